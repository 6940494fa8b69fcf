// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/reload_text.hpp"

#include "core/ctl/fields.hpp"
#include "lib/text.hpp"

namespace sluice::ctl {
namespace {

using nlohmann::json;

std::string joined(const json& texts, const char* between) {
  return texts.is_array() ? lib::joined(texts, between, [](const json& one) { return text(one); }) : std::string();
}

std::string indented(const json& texts, const std::string& before) {
  std::string out;
  if (!texts.is_array()) return out;
  for (const json& one : texts) out += before + text(one) + "\n";
  return out;
}

// ", WORDS VALUE" if there is a value.
std::string also(const char* words, const std::string& value) {
  return value == "-" ? std::string() : std::string(", ") + words + value;
}

std::string reload_line(const json& reload) {
  std::string out;
  const json& last = member(reload, "last");
  if (last.is_object()) {
    const bool failed = text(last, "result") == "failed";
    const std::string sentences = joined(member(last, "sentences"), "; ");
    out += "Reload   " + text(last, "result") + " at " + text(last, "at") + also("by ", text(last, "trigger")) +
           (failed ? also("last success at ", text(reload, "last_success")) : std::string()) +
           (sentences.empty() ? "" : ": " + sentences) + "\n";
  }
  const json& now = member(reload, "in_progress");
  if (now.is_object()) {
    out += "Reload   in progress since " + text(now, "since") + also("by ", text(now, "trigger")) +
           (text(now, "doing") == "-" ? std::string() : ": " + text(now, "doing")) + "\n";
  }
  return out;
}

std::string swap_lines(const json& swap) {
  std::string out;
  const json& last = member(swap, "last");
  if (last.is_object()) {
    out += "Swap     " + text(last, "from") + " to " + text(last, "to") + ": " + text(last, "result") + ", took " +
           duration(member(last, "seconds")) + also("longest wait ", duration(member(last, "longest_wait_seconds"))) +
           (text(last, "error") == "-" ? std::string() : ": " + text(last, "error")) + "\n";
  }
  const std::string state = text(swap, "state");
  if (state != "-" && state != "idle") {
    out += "Swap     " + text(swap, "from") + " to " + text(swap, "to") + ": " + state +
           also("since ", text(swap, "since")) + "\n";
  }
  return out;
}

}  // namespace

std::string reload_lines(const json& status) {
  const json& reload = member(status, "reload");
  const json& swap = member(status, "swap");
  const json& retiring = member(status, "retiring");
  std::string out;
  if (reload.is_object()) out += reload_line(reload);
  if (swap.is_object()) out += swap_lines(swap);
  if (retiring.is_array()) {
    for (const json& one : retiring) {
      const std::string families = joined(member(one, "families"), ", ");
      out += "Retiring " + text(one, "backend") + (families.empty() ? "" : ", " + families) +
             also("until ", text(one, "until")) +
             (text(one, "error") == "-" ? std::string() : ": " + text(one, "error")) + "\n";
    }
  }
  return out;
}

ReloadPage reload_page(const json& reply, std::chrono::seconds timeout) {
  ReloadPage out;
  const std::string result = text(reply, "result");
  const json& sentences = member(reply, "sentences");
  const std::string warnings = indented(member(reply, "warnings"), "warning: ");
  if (result == "unchanged") {
    out.text = warnings + "nothing has changed\n";
  } else if (result == "success") {
    out.text = warnings + "reloaded in " + duration(member(reply, "seconds")) + "\n" + indented(sentences, "  ");
  } else if (result == "failed") {
    out.text = warnings;
    const bool partly_applied = member(reply, "applied") == true;
    out.error = (partly_applied ? "the reload partially failed; the rest is applied:\n"
                                : "the reload failed; keeping the running configuration:\n") +
                indented(sentences, "  ");
    out.error.pop_back();
  } else if (result == "running") {
    const std::string doing = text(member(reply, "in_progress"), "doing");
    out.error = "the reload has not ended within " + std::to_string(timeout.count()) + " s and goes on" +
                (doing == "-" ? std::string() : " (" + doing + ")") + "; sluicectl status shows the result";
  } else {
    out.error = "the answer of sluiced is not understood; are daemon and sluicectl of the same version?";
  }
  return out;
}

}  // namespace sluice::ctl

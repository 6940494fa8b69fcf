// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/status_text.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ctl/fields.hpp"
#include "core/ctl/reload_text.hpp"

namespace sluice::ctl {
namespace {

using nlohmann::json;

std::string either(const json& value, const char* yes, const char* no) {
  return value.is_boolean() ? (value.get<bool>() ? yes : no) : "-";
}

// Columns are as wide as their widest cell, with two blanks between; a column without values is omitted.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string print() const {
    if (rows_.size() == 1) return {};
    std::vector<std::size_t> widths(rows_.front().size());
    std::vector<bool> used(widths.size());
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t i = 0; i < widths.size(); ++i) {
        widths[i] = std::max(widths[i], rows_[r][i].size());
        if (r > 0 && rows_[r][i] != "-") used[i] = true;
      }
    }
    std::string out = "\n";
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (used[i]) line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string heading(const json& status) {
  const json& plugin = member(status, "plugin");
  const json& node = member(status, "node");
  const json& source = member(status, "source");
  const std::string zone = text(node, "zone");
  std::string out;
  out += "Version  " + text(status, "version") + "\n";
  out += "Mode     " + text(status, "mode") + "\n";
  out += "Plugin   " + text(plugin, "id") + " " + text(plugin, "version") + ", " + text(plugin, "path") + "\n";
  out += "Node     " + text(node, "name") + (zone == "-" ? "" : ", zone " + zone) +
         (member(node, "seen") == json(false) ? ", no Node object yet" : "") + "\n";
  out += "Source   " + text(source, "kind") + ", " + text(source, "detail") + ", " +
         either(member(source, "synced"), "synced", "not synced yet") + "\n";
  const json& recording = member(status, "recording");
  if (recording.is_object()) {
    const std::string error = text(recording, "error");
    out += "Record   " + text(recording, "file") + ", " + text(recording, "events") + " events, " +
           text(recording, "bytes") + " bytes" + (error == "-" ? "" : ", ended: " + error) + "\n";
  }
  const json& kept = member(status, "kept_sockets");
  if (kept.is_object()) {
    const std::string store = text(kept, "store"), process = text(kept, "holder");
    out += "Sockets  " + text(kept, "count") + " kept by " +
           (store == "-" ? "this process only" : "the " + store + (process == "-" ? "" : ", process " + process)) + "\n";
  }
  const json& objects = member(status, "objects");
  if (objects.is_object()) {
    out += "Objects  " + text(objects, "services") + " Services, " + text(objects, "endpoint_slices") +
           " EndpointSlices, " + text(objects, "endpoints") + " endpoints\n";
  }
  out += reload_lines(status);
  return out;
}

std::string resources(const json& list) {
  Table table({"RESOURCE", "STATE", "LISTS", "WATCHES", "ERRORS", "LAST ERROR"});
  for (const json& entry : list) {
    table.add({text(entry, "kind"), either(member(entry, "connected"), "connected", "not connected"),
               text(entry, "lists"), text(entry, "watches"), text(entry, "errors"), text(entry, "last_error")});
  }
  return table.print();
}

// The first service ports that are not programmed; the JSON document contains all.
std::string not_programmed(const std::string& family, const json& list) {
  constexpr std::size_t kShown = 10;
  if (!list.is_array()) return {};
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, list.size()); ++i) {
    out += family + " not programmed: " + text(list[i], "service_port") + ": " + text(list[i], "reason") + "\n";
  }
  if (list.size() > kShown) out += family + " not programmed: " + std::to_string(list.size() - kShown) + " more\n";
  return out;
}

// What the backend says about itself.
std::string facts(const std::string& family, const json& list) {
  if (!list.is_array()) return {};
  std::string out;
  for (const json& fact : list) {
    const std::string remedy = text(fact, "remedy");
    out += family + " " + text(fact, "name") + ": " + text(fact, "value") + (remedy == "-" ? "" : "; " + remedy) + "\n";
  }
  return out;
}

std::string families(const json& list) {
  Table state({"FAMILY", "STATE", "GENERATION", "PORTS", "OWNED", "FULL SYNCS", "DELTA SYNCS", "REPAIRS", "FAILURES"});
  Table last({"FAMILY", "LAST SYNC", "KIND", "TOOK", "WRITES", "RESULT"});
  std::string remarks;
  for (const json& entry : list) {
    const std::string name = text(entry, "family");
    state.add({name, either(member(entry, "synced"), "synced", "not synced"), text(entry, "generation"),
               text(entry, "service_ports"), text(entry, "objects_owned"), text(entry, "full_syncs"),
               text(entry, "delta_syncs"), text(entry, "repairs"), text(entry, "failures")});
    const json& apply = member(entry, "last_apply");
    if (apply.is_object()) {
      last.add({name, text(apply, "at"), text(apply, "kind"), duration(member(apply, "seconds")),
                text(apply, "kernel_writes"), text(apply, "result")});
    }
    const auto add_remark = [&](const char* what, std::string_view key) {
      if (const std::string value = text(entry, key); value != "-") remarks += name + " " + what + ": " + value + "\n";
    };
    remarks += not_programmed(name, member(entry, "not_programmed"));
    add_remark("error", "last_error");
    const json& failure = member(entry, "last_failure");
    if (failure.is_object() && text(entry, "last_error") == "-") {
      remarks += name + " last failure: " + text(failure, "at") + ", " + text(failure, "error") + "\n";
    }
    add_remark("unwell", "unwell");
    add_remark("overdue", "overdue");
    remarks += facts(name, member(entry, "facts"));
  }
  return state.print() + last.print() + (remarks.empty() ? "" : "\n" + remarks);
}

}  // namespace

bool all_synced(const json& status) {
  const json& families = member(status, "families");
  return families.is_array() && !families.empty() &&
         std::all_of(families.begin(), families.end(), [](const json& family) {
           return member(family, "synced") == true && text(family, "overdue") == "-";
         });
}

std::string status_text(const json& status) {
  std::string out = heading(status);
  const json& kinds = member(member(status, "source"), "resources");
  if (kinds.is_array()) out += resources(kinds);
  const json& per_family = member(status, "families");
  if (per_family.is_array()) out += families(per_family);
  const json& events = member(status, "events");
  if (events.is_object()) {
    out += "\nEvents   " + text(events, "total") + ", of which " + text(events, "no_op") + " changed nothing and " +
           text(events, "unusable") + " were unusable\n";
  }
  return out;
}

}  // namespace sluice::ctl

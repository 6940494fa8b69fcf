// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/kernel_part.hpp"

#include "core/base/log_messages.hpp"
#include "core/config/option.hpp"
#include "core/node/kernel_settings.hpp"
#include "core/node/local_detector.hpp"
#include "lib/sysctl.hpp"
#include "lib/text.hpp"

namespace sluice::daemon {
namespace {

bool on_bridge(const config::Settings& settings) {
  return settings.local_detector.mode == node::DetectLocalMode::bridge_interface;
}

// Names of settings that are no longer set, switches last; the kernel keeps their values.
std::string no_longer_set(const config::Settings& from, const config::Settings& to) {
  using config::Value;
  const auto is_set = [](const Value& value) {
    return value != Value(0) && value != Value(false) && value != Value(config::Duration(0));
  };
  std::vector<std::string> names;
  for (const bool switches : {false, true}) {
    for (const config::Option& option : config::options()) {
      if (!option.zero_keeps_kernel || (option.kind == config::FlagKind::boolean) != switches) continue;
      if (!is_set(option.setting.get(from)) || is_set(option.setting.get(to))) continue;
      names.emplace_back(option.field.substr(option.field.find('.') + 1));
    }
  }
  return lib::joined(names);
}

}  // namespace

std::vector<std::string> KernelPart::apply(const config::Settings& settings) {
  const lib::Sysctl sysctl(paths_.proc_sys);
  auto out = node::apply_conntrack_settings(settings.conntrack, sysctl, paths_.sys);
  if (!out.empty()) {
    base::log(base::message::kConntrackSettingFailed, lib::joined(out, "; "), {{"error", lib::joined(out, "; ")}});
    observer_.conntrack_settings_failed(out);
  }
  if (const auto sentence = node::check_bridge_netfilter(sysctl, on_bridge(settings)); !sentence.empty()) {
    base::log(base::message::kBridgeNetfilterOff, sentence);
    out.push_back(sentence);
  }
  if (const auto status = node::set_oom_score(settings.oom_score_adj, paths_.oom_file); !status.ok()) {
    base::log(base::message::kOomScoreFailed, status.message(), {{"error", status.message()}});
    out.push_back(status.message());
  }
  return out;
}

void KernelPart::read_conntrack_tcp_liberal() {
  const auto liberal = node::conntrack_tcp_be_liberal(lib::Sysctl(paths_.proc_sys));
  if (!liberal)
    base::log(base::message::kConntrackLiberalUnreadable, liberal.status().message(),
              {{"error", liberal.status().message()}});
  conntrack_tcp_liberal_ = liberal.ok() && *liberal;
}

bool KernelPart::concerned(const config::Settings& from, const config::Settings& to) const {
  return !(from.conntrack == to.conntrack) || from.oom_score_adj != to.oom_score_adj ||
         on_bridge(from) != on_bridge(to);
}

lib::Status KernelPart::prepare(const config::Settings& from, const config::Settings& to) {
  from_ = from;
  next_ = to;
  return {};
}

reload::Committed KernelPart::commit() {
  reload::Committed out;
  for (auto& sentence : apply(next_)) out.done.push_back("kernel settings: " + sentence);
  if (out.done.empty()) out.done.emplace_back("kernel settings: written");
  if (const std::string names = no_longer_set(from_, next_); !names.empty()) {
    out.done.push_back("kernel settings: keeping the current kernel values of settings removed from conntrack: " +
                       names);
  }
  if (!(from_.conntrack == next_.conntrack)) {
    read_conntrack_tcp_liberal();
    observer_.node_facts_changed();
  }
  return out;
}

}  // namespace sluice::daemon

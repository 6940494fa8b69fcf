// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/kernel_part.hpp"

#include "core/base/log.hpp"
#include "core/node/kernel_settings.hpp"
#include "core/node/local_detector.hpp"
#include "lib/sysctl.hpp"
#include "lib/text.hpp"

namespace sluice::daemon {
namespace {

bool on_bridge(const config::Settings& settings) {
  return settings.local_detector.mode == node::DetectLocalMode::bridge_interface;
}

// Names of settings that are no longer set; the kernel keeps their values.
std::string no_longer_set(const node::ConntrackSettings& from, const node::ConntrackSettings& to) {
  std::string out;
  const auto note = [&out](bool was_set, bool is_set, const char* name) {
    if (was_set && !is_set) out += (out.empty() ? "" : ", ") + std::string(name);
  };
  const auto given = [](std::chrono::nanoseconds time) { return time.count() != 0; };
  note(from.max_per_core != 0, to.max_per_core != 0, "maxPerCore");
  note(given(from.tcp_established_timeout), given(to.tcp_established_timeout), "tcpEstablishedTimeout");
  note(given(from.tcp_close_wait_timeout), given(to.tcp_close_wait_timeout), "tcpCloseWaitTimeout");
  note(given(from.udp_timeout), given(to.udp_timeout), "udpTimeout");
  note(given(from.udp_stream_timeout), given(to.udp_stream_timeout), "udpStreamTimeout");
  note(from.tcp_be_liberal, to.tcp_be_liberal, "tcpBeLiberal");
  return out;
}

}  // namespace

std::vector<std::string> KernelPart::apply(const config::Settings& settings) {
  const lib::Sysctl sysctl(hooks_.proc_sys);
  auto out = node::apply_conntrack_settings(settings.conntrack, sysctl, hooks_.sys);
  if (!out.empty()) {
    base::log_warning("node", lib::joined(out, "; "));
    if (hooks_.conntrack_settings_failed) hooks_.conntrack_settings_failed(out);
  }
  if (const auto sentence = node::check_bridge_netfilter(sysctl, on_bridge(settings)); !sentence.empty()) {
    base::log_warning("node", sentence);
    out.push_back(sentence);
  }
  if (const auto status = node::set_oom_score(settings.oom_score_adj, hooks_.oom_file); !status.ok()) {
    base::log_warning("node", status.message());
    out.push_back(status.message());
  }
  return out;
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
  if (const std::string names = no_longer_set(from_.conntrack, next_.conntrack); !names.empty()) {
    out.done.push_back("kernel settings: keeping the current kernel values of settings removed from conntrack: " +
                       names);
  }
  if (!(from_.conntrack == next_.conntrack) && hooks_.changed) hooks_.changed();
  return out;
}

}  // namespace sluice::daemon

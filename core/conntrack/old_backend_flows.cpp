// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/old_backend_flows.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace sluice::conntrack {
namespace {

// If every request has its reply and no packet passes for this time, no packet is in flight.
constexpr std::chrono::milliseconds kQuiet{300};
// A pending reply arrives within this time even if the node is overloaded.
constexpr std::chrono::milliseconds kLatestReply{3000};
// A client that sent more requests and never received a reply expects none.
constexpr std::uint64_t kMostUnansweredRequests = 3;
// If the kernel does not count packets, only the remaining time in whole seconds shows them: with a packet each second
// it is the maximum, or one less.
constexpr std::uint32_t kQuietSeconds = 2;

bool waits_for_reply(const Flow& flow) {
  const std::uint64_t requests = flow.packets - flow.replies;
  return requests > flow.replies && (flow.replies != 0 || requests <= kMostUnansweredRequests);
}

}  // namespace

void OldBackendFlows::set_old_backends(OldBackends old_backends) {
  const bool serve = old_backends.serve;
  if (serve && (old_backends.ipvs || old_backends.relay_ports.empty())) {
    collecting_ = collecting_ || ipvs_flow_owner_ != IpvsFlowOwner::kOldBackend;
    ipvs_flow_owner_ = IpvsFlowOwner::kOldBackend;
  } else if (ipvs_flow_owner_ == IpvsFlowOwner::kOldBackend) {
    ipvs_flow_owner_ = IpvsFlowOwner::kEndedBackend;
  }
  serves_ = serve;
  relay_ports_ = serve ? std::move(old_backends.relay_ports) : std::vector<std::uint16_t>();
  std::sort(relay_ports_.begin(), relay_ports_.end());
}

void OldBackendFlows::begin(lib::Clock::Time now, bool full) {
  now_ = now;
  full_ = full;
  found_ = false;
  any_virtual_servers_.reset();
  ++scan_;
}

void OldBackendFlows::end(bool complete) {
  if (!complete || !full_) return;
  std::erase_if(tracked_, [this](const auto& one) { return one.second.scan != scan_; });
  collecting_ = false;
  if (ipvs_flow_owner_ == IpvsFlowOwner::kEndedBackend && !found_) ipvs_flow_owner_ = IpvsFlowOwner::kActiveBackend;
  if (!serves_) tracked_.clear();
}

bool OldBackendFlows::keep_ipvs_flow(const Flow& flow) {
  switch (ipvs_flow_owner_) {
    case IpvsFlowOwner::kOldBackend:
      return !(collecting_ || is_of_old_backend(flow)) || !is_quiet(flow);
    case IpvsFlowOwner::kEndedBackend:
      if (collecting_ || is_of_old_backend(flow)) {
        found_ = true;
        return false;
      }
      break;
    case IpvsFlowOwner::kActiveBackend:
      break;
  }
  // An earlier daemon that used IPVS may have ended before this one started; then the flow has no server any more.
  if (!full_) return true;
  if (!any_virtual_servers_) any_virtual_servers_ = virtual_servers_().value_or(true);
  return *any_virtual_servers_;
}

bool OldBackendFlows::keep_relayed_flow(const Flow& flow) {
  return std::binary_search(relay_ports_.begin(), relay_ports_.end(), flow.reply_source.port) && !is_quiet(flow);
}

bool OldBackendFlows::is_of_old_backend(const Flow& flow) const {
  // Only deleted flows reverse, and only flows of the old backend are deleted while IPVS serves them.
  if (flow.is_reversed()) return true;
  const auto at = tracked_.find(flow.id);
  return at != tracked_.end() && at->second.source == flow.source;
}

bool OldBackendFlows::is_quiet(const Flow& flow) {
  const auto [at, fresh] = tracked_.try_emplace(flow.id);
  TrackedFlow& tracked = at->second;
  tracked.scan = scan_;
  if (fresh || tracked.source != flow.source) {
    tracked = {flow.source, flow.packets, flow.remaining, now_, scan_};
    return false;
  }
  tracked.remaining = std::max(tracked.remaining, flow.remaining);
  if (flow.packets != tracked.packets) {
    tracked.packets = flow.packets;
    tracked.since = now_;
    return false;
  }
  if (flow.packets != 0) return now_ - tracked.since >= (waits_for_reply(flow) ? kLatestReply : kQuiet);
  return flow.remaining + kQuietSeconds <= tracked.remaining;
}

std::optional<bool> has_virtual_servers() {
  std::ifstream in("/proc/thread-self/net/ip_vs");
  if (!in) return std::nullopt;
  // Lines of real servers begin with an arrow.
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("TCP") || line.starts_with("UDP") || line.starts_with("SCTP") || line.starts_with("FWM")) {
      return true;
    }
  }
  return in.bad() ? std::nullopt : std::optional<bool>(false);
}

}  // namespace sluice::conntrack

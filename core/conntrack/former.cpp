// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/former.hpp"

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
// Where packets are not counted there is only the time that remains, in whole seconds: a flow with a packet each second
// shows the most of it, or one less.
constexpr std::uint32_t kQuietSeconds = 2;

bool waits_for_reply(const Flow& flow) {
  const std::uint64_t requests = flow.packets - flow.replies;
  return requests > flow.replies && (flow.replies != 0 || requests <= kMostUnansweredRequests);
}

}  // namespace

void FormerBackend::set(bool serves, std::vector<std::uint16_t> relays, bool kernel) {
  std::sort(relays.begin(), relays.end());
  if (serves && (kernel || relays.empty())) {
    collecting_ = collecting_ || ipvs_ != Ipvs::kFormer;
    ipvs_ = Ipvs::kFormer;
  } else if (ipvs_ == Ipvs::kFormer) {
    ipvs_ = Ipvs::kNobody;
  }
  serves_ = serves;
  relays_ = serves ? std::move(relays) : std::vector<std::uint16_t>();
}

void FormerBackend::begin(base::Clock::Time now, bool everything) {
  now_ = now;
  everything_ = everything;
  found_ = false;
  any_virtual_servers_.reset();
  ++look_;
}

void FormerBackend::end(bool complete) {
  if (!complete || !everything_) return;
  std::erase_if(seen_, [this](const auto& one) { return one.second.look != look_; });
  collecting_ = false;
  if (ipvs_ == Ipvs::kNobody && !found_) ipvs_ = Ipvs::kPresent;
  if (!serves_) seen_.clear();
}

bool FormerBackend::keeps_through_ipvs(const Flow& flow) {
  switch (ipvs_) {
    case Ipvs::kFormer:
      return !(collecting_ || is_of_former(flow)) || !is_quiet(flow);
    case Ipvs::kNobody:
      if (collecting_ || is_of_former(flow)) {
        found_ = true;
        return false;
      }
      break;
    case Ipvs::kPresent:
      break;
  }
  // A daemon that served by it may have ended before this one began: the flow would go nowhere for ever.
  if (!everything_) return true;
  if (!any_virtual_servers_) any_virtual_servers_ = virtual_servers_().value_or(true);
  return *any_virtual_servers_;
}

bool FormerBackend::keeps_relayed(const Flow& flow) {
  return std::binary_search(relays_.begin(), relays_.end(), flow.reply_source.port) && !is_quiet(flow);
}

bool FormerBackend::is_of_former(const Flow& flow) const {
  // It is the former backend's flows that are deleted though IPVS answers them.
  if (flow.turned_round()) return true;
  const auto at = seen_.find(flow.id);
  return at != seen_.end() && at->second.source == flow.source;
}

bool FormerBackend::is_quiet(const Flow& flow) {
  const auto [at, fresh] = seen_.try_emplace(flow.id);
  Seen& seen = at->second;
  seen.look = look_;
  if (fresh || seen.source != flow.source) {
    seen = {flow.source, flow.packets, flow.remaining, now_, look_};
    return false;
  }
  seen.remaining = std::max(seen.remaining, flow.remaining);
  if (flow.packets != seen.packets) {
    seen.packets = flow.packets;
    seen.since = now_;
    return false;
  }
  if (flow.packets != 0) return now_ - seen.since >= (waits_for_reply(flow) ? kLatestReply : kQuiet);
  return flow.remaining + kQuietSeconds <= seen.remaining;
}

std::optional<bool> has_virtual_servers() {
  std::ifstream in("/proc/thread-self/net/ip_vs");
  if (!in) return std::nullopt;
  // After the headings; those of real servers begin with an arrow.
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("TCP") || line.starts_with("UDP") || line.starts_with("SCTP") || line.starts_with("FWM")) {
      return true;
    }
  }
  return in.bad() ? std::nullopt : std::optional<bool>(false);
}

}  // namespace sluice::conntrack

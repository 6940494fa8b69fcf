// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// UDP flows that another backend than the present one answers: while it is still there, a flow is left alone as long as
// packets pass, and let go of when it is quiet, so that no answer on its way is lost. Pure; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/clock.hpp"
#include "core/conntrack/flow.hpp"

namespace sluice::conntrack {

class FormerBackend {
 public:
  // `virtual_servers`: whether IPVS of this network namespace has any; nullopt: unknown. Called once
  // per scan, and only if there are flows that IPVS answers.
  using VirtualServers = std::function<std::optional<bool>()>;
  explicit FormerBackend(VirtualServers virtual_servers) : virtual_servers_(std::move(virtual_servers)) {}

  // See ConntrackReconciler::set_predecessor().
  void set(bool serves, std::vector<std::uint16_t> relays, bool kernel = false);
  // It answers flows, or did until now: to be looked at again and again.
  bool remains() const { return serves_ || ipvs_ == Ipvs::kNobody; }
  bool serves() const { return serves_; }

  // A pass over flows; `everything`: no flow is left out.
  void begin(base::Clock::Time now, bool everything);
  void end(bool complete);
  // Whether one that an endpoint answers through IPVS is to go on.
  bool keeps_through_ipvs(const Flow& flow);
  // Whether one that nobody else answers, with a reply from this node, is to go on.
  bool keeps_relayed(const Flow& flow);

 private:
  // Who is at work in IPVS.
  enum class Ipvs {
    kPresent,  // the present backend, or somebody else's virtual servers: these flows are right
    kFormer,   // the one before
    kNobody,   // nobody any more; until a look finds no flow of it: those that are deleted may turn round
  };
  struct Seen {
    base::SocketAddress source;
    std::uint64_t packets = 0;
    std::uint32_t remaining = 0;  // the most that was seen: this is what a packet sets it to
    base::Clock::Time since;      // of `packets`
    std::uint64_t look = 0;
  };

  bool is_quiet(const Flow& flow);
  bool is_of_former(const Flow& flow) const;

  VirtualServers virtual_servers_;
  bool serves_ = false;
  std::vector<std::uint16_t> relays_;
  Ipvs ipvs_ = Ipvs::kPresent;
  // Until a look at everything has shown which flows IPVS has: those that come later are not the former backend's. It
  // may have been one without IPVS, and it is the present one that has it.
  bool collecting_ = false;
  std::unordered_map<std::uint32_t, Seen> seen_;  // of the former backend, by number of the flow
  base::Clock::Time now_;
  std::uint64_t look_ = 0;
  bool everything_ = false;
  bool found_ = false;  // flows of the former backend that nobody answers any more, by this look
  std::optional<bool> any_virtual_servers_;
};

// From /proc/net/ip_vs.
std::optional<bool> has_virtual_servers();

}  // namespace sluice::conntrack

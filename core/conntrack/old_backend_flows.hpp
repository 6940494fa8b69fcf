// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// UDP flows that the old backend serves during a swap. A flow stays while packets pass; a quiet flow may be deleted, so
// that no reply in flight is lost. No I/O; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/conntrack/flow.hpp"
#include "lib/clock.hpp"

namespace sluice::conntrack {

// How the old backends of one family still serve UDP flows: one statement for all of them.
struct OldBackends {
  bool serve = false;                      // at least one of them
  std::vector<std::uint16_t> relay_ports;  // of this node, in host byte order, from which their process replies
  // IPVS of one of them serves: its flows have no DNAT, and an endpoint replies. If `serve` is true and there are no
  // relay ports, IPVS is assumed.
  bool ipvs = false;
};

class OldBackendFlows {
 public:
  // Whether IPVS has virtual servers in this network namespace; nullopt: unknown. Called at most once per full scan, at
  // the first IPVS flow that belongs to no old backend, and not while IPVS of an old backend serves.
  using VirtualServers = std::function<std::optional<bool>()>;
  explicit OldBackendFlows(VirtualServers virtual_servers) : virtual_servers_(std::move(virtual_servers)) {}

  // Replaces the previous statement.
  void set_old_backends(OldBackends old_backends);
  // Old backends serve flows, or their flows are not deleted yet.
  bool needs_scans() const { return serves_ || ipvs_flow_owner_ == IpvsFlowOwner::kEndedBackend; }
  bool serves() const { return serves_; }

  // Brackets of a scan; `full`: it covers all flows.
  void begin(lib::Clock::Time now, bool full);
  void end(bool complete);
  // Whether to keep a flow to an endpoint that IPVS translates.
  bool keep_ipvs_flow(const Flow& flow);
  // Whether to keep a flow with replies from this node that is stale for the new backend.
  bool keep_relayed_flow(const Flow& flow);

 private:
  enum class IpvsFlowOwner {
    kActiveBackend,  // or another program: the flows are valid
    kOldBackend,     // still serves
    kEndedBackend,   // an old backend that has ended, until a scan finds none of its flows: deleted ones may reverse
  };
  struct TrackedFlow {
    lib::SocketAddress source;
    std::uint64_t packets = 0;
    std::uint32_t remaining = 0;  // maximum so far; each packet resets it to that
    lib::Clock::Time since;      // of the last change of `packets`
    std::uint64_t scan = 0;       // the last scan that found it
  };

  bool is_quiet(const Flow& flow);
  bool is_of_old_backend(const Flow& flow) const;

  VirtualServers virtual_servers_;
  bool serves_ = false;
  std::vector<std::uint16_t> relay_ports_;
  IpvsFlowOwner ipvs_flow_owner_ = IpvsFlowOwner::kActiveBackend;
  // Until a full scan has recorded the flows of IPVS. Later flows do not belong to the old backend: perhaps it did not
  // use IPVS, and the active backend does.
  bool collecting_ = false;
  std::unordered_map<std::uint32_t, TrackedFlow> tracked_;  // of the old backend, by flow id
  lib::Clock::Time now_;
  std::uint64_t scan_ = 0;
  bool full_ = false;
  bool found_ = false;  // this scan found flows of an old backend that has ended
  std::optional<bool> any_virtual_servers_;
};

// Reads /proc/thread-self/net/ip_vs: the network namespace of the calling thread. /proc/net shows that of the main
// thread.
std::optional<bool> has_virtual_servers();

}  // namespace sluice::conntrack

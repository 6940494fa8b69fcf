// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Access to IPVS; tests replace it, or the netlink socket below it (lib::netlink::RawSocket).
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/ipvs/server_types.hpp"

namespace sluice::ipvs {

// What the kernel has counted since the virtual or real server was created. It sums up every two seconds.
struct IpvsCounters {
  bool known = false;
  std::uint64_t connections = 0;
  std::uint64_t packets = 0;  // from clients
  std::uint64_t bytes = 0;    // with IP headers, in both directions
  std::uint64_t reply_packets = 0;
  std::uint64_t reply_bytes = 0;
};

// A virtual server as the kernel reports it.
struct VirtualServerState : VirtualServer {
  IpvsCounters counters{};
};

// A real server as the kernel reports it.
struct RealServerState {
  RealServer server;
  std::int32_t weight = 0;
  bool masquerades = true;           // its forwarding method is NAT
  // Active and inactive ones (BEH 6.4), without persistence templates: those last as long as the affinity, and with
  // expire_quiescent_template (BEH 6.1) bring no new connections to a server of weight 0.
  std::uint64_t connections = 0;
  std::uint64_t active = 0;  // established ones; always 0 for UDP
  IpvsCounters counters{};
};

enum class ServerCommandKind : std::uint8_t {
  kAddServer,    // IPVS_CMD_NEW_SERVICE
  kEditServer,   // SET_SERVICE
  kDeleteServer, // DEL_SERVICE; its real servers go with it
  kAddReal,      // NEW_DEST, forwarding method masquerade, no thresholds
  kEditReal,     // SET_DEST
  kDeleteReal,   // DEL_DEST
};

struct ServerCommand {
  ServerCommandKind kind{};
  VirtualServer server;  // commands about real servers use the key only
  RealServer real;
  std::int32_t weight = 1;
};

struct IpvsTimeouts {
  std::uint32_t tcp = 0;      // seconds; 0: keep what there is
  std::uint32_t tcp_fin = 0;
  std::uint32_t udp = 0;
};

class ServerKernel {
 public:
  virtual ~ServerKernel() = default;
  // Dumps that were truncated or interrupted are retried a few times. All throw sdk::Failure: kUnsupported if the
  // kernel has no IPVS (names the module), kDenied, kRetry for shortages (ENOBUFS, ENOMEM, a broken dump), kKernel.

  // One dump of this family's virtual servers, without those by firewall mark (BEH 6.5).
  virtual std::vector<VirtualServerState> servers() = 0;
  // One dump. Empty also if the virtual server does not exist.
  virtual std::vector<RealServerState> real_servers(const ServerKey& key) = 0;
  // Executes all commands in order, many per system call. Returns 0 or errno for each (ENOENT for an unknown
  // scheduler or real server, EEXIST, ESRCH for an unknown virtual server …). Throws only if it is unknown which
  // commands were executed.
  virtual std::vector<int> execute(const std::vector<ServerCommand>& commands) = 0;
  // For the whole node, both families. One message.
  virtual void set_timeouts(const IpvsTimeouts& timeouts) = 0;
  virtual IpvsTimeouts timeouts() = 0;
  // Messages that change something, since construction.
  virtual std::uint64_t messages() const = 0;
};

}  // namespace sluice::ipvs

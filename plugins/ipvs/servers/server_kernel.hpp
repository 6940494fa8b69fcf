// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one seam between this backend and IPVS; tests replace it, or the wire below it.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/ipvs/values.hpp"

namespace sluice::ipvs {

// A real server as the kernel shows it.
struct RealServerState {
  RealServer server;
  std::int32_t weight = 0;
  bool masquerades = true;           // its forwarding method is NAT
  // Active and inactive ones (BEH 6.4). Not those of persistence templates: they live for as long as the affinity lasts, and with
  // expire_quiescent_template (BEH 6.1) they bring no new connections to a server of weight 0.
  std::uint64_t connections = 0;
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
  VirtualServer server;  // of commands about real servers, the key alone counts
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
  // Dumps that were cut off or interrupted are repeated some times. All throw sdk::Failure: kUnsupported when the
  // kernel has no IPVS (naming the module), kDenied, kRetry for shortages (ENOBUFS, ENOMEM, a broken dump), kKernel.

  // One dump of this family's virtual servers; those by firewall mark are left out (BEH 6.5).
  virtual std::vector<VirtualServer> servers() = 0;
  // One dump. Empty also when there is no such virtual server.
  virtual std::vector<RealServerState> real_servers(const ServerKey& key) = 0;
  // Carries out all of them in their order, many in one system call; for each 0 or the errno it was refused with
  // (ENOENT for an unknown scheduler or real server, EEXIST, ESRCH for an unknown virtual server …). Throws only when it
  // is not known what was carried out.
  virtual std::vector<int> execute(const std::vector<ServerCommand>& commands) = 0;
  // Of the whole node, both families. One message.
  virtual void set_timeouts(const IpvsTimeouts& timeouts) = 0;
  virtual IpvsTimeouts timeouts() = 0;
  // Messages that change something, since the object was made.
  virtual std::uint64_t messages() const = 0;
};

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// IPVS of this network namespace, over generic netlink. One thread at a time.
#pragma once

#include "plugins/common/netlink/generic_family.hpp"
#include "plugins/common/netlink/socket.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"

namespace sluice::ipvs {

class NetlinkServers final : public ServerKernel {
 public:
  explicit NetlinkServers(abi::Family family);
  NetlinkServers(abi::Family family, netlink::OpenRawSocket open, std::chrono::milliseconds timeout);

  std::vector<VirtualServerState> servers() override;
  std::vector<RealServerState> real_servers(const ServerKey& key) override;
  std::vector<int> execute(const std::vector<ServerCommand>& commands) override;
  void set_timeouts(const IpvsTimeouts& timeouts) override;
  IpvsTimeouts timeouts() override;
  std::uint64_t messages() const override { return changes_; }

 private:
  // Calls `body` with the family number, and again if that number was stale.
  template <class Body>
  int with_family(const Body& body);
  [[noreturn]] void refused(int error, const char* what) const;

  abi::Family family_;
  netlink::Socket socket_;
  netlink::GenericFamily ipvs_;
  std::uint64_t changes_ = 0;
};

}  // namespace sluice::ipvs

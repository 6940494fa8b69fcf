// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps connections of the successor alive while IPVS forgets its own.
//
// When IPVS forgets a connection (two minutes after its end, or with its virtual server), the kernel also removes the tracked flow of
// the same client, port and service (ip_vs_conn_drop_conntrack()), whoever leads it by then: a client that uses a port again has a
// connection of the successor there. Without the flow its next packet is taken for the first of a new one and led to any endpoint, which
// resets it. The kernel tells of each flow it removes; here it is put back as it was. A packet that comes in between is still
// led astray.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/ipvs/values.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

// A thread of its own, with all signals blocked, between start() and stop(). One thread calls these.
class FlowKeeper {
 public:
  // Empty `open`: it keeps nothing.
  FlowKeeper(netlink::OpenWire open, abi::Family family, sdk::Logger log);
  ~FlowKeeper();
  FlowKeeper(const FlowKeeper&) = delete;
  FlowKeeper& operator=(const FlowKeeper&) = delete;

  // From now on the kernel notes what it is to tell: where nf_conntrack_events is 2, of flows that begin while somebody listens. Where
  // nobody can listen, that is said once, and nothing is kept.
  void listen();
  // Keeps flows to these virtual servers, those of which was told since listen() included.
  void start(const std::vector<ServerKey>& servers);
  bool running() const noexcept { return thread_.joinable(); }
  // After that time, in which the kernel ends what it was told to end.
  void stop(std::chrono::milliseconds linger = {});

 private:
  void give_up(const std::string& why);
  void run();
  bool read_all();
  void keep(nlmsghdr* message);

  netlink::OpenWire open_;
  const abi::Family family_;
  sdk::Logger log_;
  std::set<ServerKey> servers_;
  std::unique_ptr<netlink::Wire> events_;
  std::unique_ptr<netlink::Socket> requests_;
  std::vector<char> buffer_;
  std::size_t kept_ = 0;
  std::size_t late_ = 0;        // a packet was quicker
  std::string failure_;         // the first one
  bool said_ = false;
  std::atomic<bool> ending_{false};
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace sluice::ipvs

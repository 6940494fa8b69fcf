// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps connections of the new backend alive while IPVS expires its own.
//
// When IPVS expires a connection (two minutes after its end, or with its virtual server), the kernel also deletes the
// conntrack entry of the same client, port and service (ip_vs_conn_drop_conntrack()). A client that reuses the port
// has a connection through the new backend there. Without the entry its next packet counts as a new connection and
// reaches any endpoint, which resets it. The kernel reports each deleted entry, and this class restores it. Packets
// that arrive in between are still misdirected.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/wake_up.hpp"
#include "plugins/common/netlink/socket.hpp"
#include "plugins/ipvs/server_types.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::ipvs {

// Has its own thread, with all signals blocked, between start() and stop(). The functions must be called from one
// thread.
class FlowKeeper {
 public:
  // Empty `open`: nothing is restored.
  FlowKeeper(netlink::OpenRawSocket open, abi::Family family, sdk::Logger log);
  ~FlowKeeper();
  FlowKeeper(const FlowKeeper&) = delete;
  FlowKeeper& operator=(const FlowKeeper&) = delete;

  // Subscribes to deletions. With nf_conntrack_events=2 the kernel reports only entries created while a listener
  // exists. If the subscription fails, a warning is logged once and nothing is restored.
  void listen();
  // Restores entries of these virtual servers, including those deleted since listen().
  void start(const std::vector<ServerKey>& servers);
  bool running() const noexcept { return thread_.joinable(); }
  // Waits for `linger` first, in which the kernel finishes deletions that were requested before.
  void stop(std::chrono::milliseconds linger = {});

 private:
  void give_up(const std::string& why);
  void run();
  bool read_all();
  void restore(nlmsghdr* message);

  netlink::OpenRawSocket open_;
  const abi::Family family_;
  sdk::Logger log_;
  std::set<ServerKey> servers_;
  std::unique_ptr<lib::netlink::RawSocket> events_;
  std::unique_ptr<netlink::Socket> requests_;
  std::vector<char> buffer_;
  std::size_t restored_ = 0;
  std::size_t late_ = 0;        // another packet had created a new entry already
  std::string failure_;         // the first one
  bool warned_ = false;
  std::atomic<bool> ending_{false};
  lib::WakeUp wake_;
  std::thread thread_;
};

}  // namespace sluice::ipvs

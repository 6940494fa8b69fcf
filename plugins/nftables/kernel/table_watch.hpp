// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Watches our table for changes by other processes.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "lib/wake_up.hpp"
#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/event_reader.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

// Runs a thread, with all signals blocked, from start() to finish() or destruction. The destructor waits for a running call of
// `changed`, and so does finish().
class NetlinkWatch final : public TableWatch {
 public:
  // The kernel sends the name of the process after the change. After this timeout the change is reported without it.
  static constexpr std::chrono::milliseconds kWaitForName{500};

  NetlinkWatch(abi::Family family, netlink::OpenRawSocket open, std::shared_ptr<OwnSenders> own);
  ~NetlinkWatch() override;
  NetlinkWatch(const NetlinkWatch&) = delete;
  NetlinkWatch& operator=(const NetlinkWatch&) = delete;

  void start(Changed changed) override;
  void rearm() override { armed_ = true; }
  bool finish() override;

 private:
  void end_thread();
  void run();
  // Reads all pending datagrams. Returns false after a socket error; run() then pauses before it reads again.
  bool drain(std::vector<char>& buffer);
  void report();

  netlink::OpenRawSocket open_;
  std::shared_ptr<OwnSenders> own_;
  EventReader reader_;
  Changed changed_;
  std::unique_ptr<lib::netlink::RawSocket> socket_;
  std::atomic<bool> armed_{true};
  std::atomic<bool> missed_{false};
  std::atomic<int> listen_error_{0};  // why there are no notifications; 0: there are
  std::atomic<bool> ending_{false};
  lib::WakeUp wake_;
  std::thread thread_;
};

}  // namespace sluice::nftables

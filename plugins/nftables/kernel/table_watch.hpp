// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Listens to what others do to our table in nf_tables.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "plugins/common/netlink/wire.hpp"
#include "plugins/nftables/kernel/event_reader.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

// A thread of its own, with all signals blocked, from start() to the end of this object; the end waits for a call of `changed` that is
// under way.
class NetlinkWatch final : public TableWatch {
 public:
  // Who made a change is told after it; without that the change is told alone.
  static constexpr std::chrono::milliseconds kWaitForName{500};

  NetlinkWatch(abi::Family family, netlink::OpenWire open, std::shared_ptr<OwnSenders> own);
  ~NetlinkWatch() override;
  NetlinkWatch(const NetlinkWatch&) = delete;
  NetlinkWatch& operator=(const NetlinkWatch&) = delete;

  void start(Changed changed) override;
  void rearm() override { armed_ = true; }

 private:
  void run();
  // Reads what is there. False: the wire is of no use at the moment.
  bool drain(std::vector<char>& buffer);
  void tell();
  void wake() noexcept;

  netlink::OpenWire open_;
  std::shared_ptr<OwnSenders> own_;
  EventReader reader_;
  Changed changed_;
  std::unique_ptr<netlink::Wire> wire_;
  std::atomic<bool> armed_{true};
  std::atomic<bool> missed_{false};
  std::atomic<int> deaf_{0};  // why nothing is heard; 0: it is
  std::atomic<bool> ending_{false};
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports changes of the addresses of this node. A thread listens to netlink notifications and uses them as a hint
// only: it reads all addresses again and compares them. Lost notifications (ENOBUFS), refreshed lifetimes and many
// changes at once therefore cost one read. Notifications of the link of service addresses are filtered out.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "core/node/address_events.hpp"
#include "core/node/addresses.hpp"
#include "core/node/debounce.hpp"
#include "lib/clock.hpp"
#include "lib/status.hpp"
#include "lib/wake_up.hpp"

namespace sluice::node {

using InterfaceAddresses = std::vector<InterfaceAddress>;

class AddressMonitor {
 public:
  // `read` and `changed` run on the monitor's thread (`read` also in start()).
  struct Options {
    std::function<lib::Result<InterfaceAddresses>()> read = read_node_addresses;
    std::function<void(const InterfaceAddresses&)> changed;
    DebounceOptions debounce;
    lib::Clock::Duration retry = std::chrono::seconds(1);  // after a failed read
    AddressEvents::FindLink find_service_link{};            // empty: kube-ipvs0
  };

  explicit AddressMonitor(Options options)
      : options_(std::move(options)), debounce_(options_.debounce), events_(options_.find_service_link) {}
  ~AddressMonitor() { stop(); }
  AddressMonitor(const AddressMonitor&) = delete;
  AddressMonitor& operator=(const AddressMonitor&) = delete;

  // Subscribes, reads the addresses, then starts the thread, so that no change is missed. Returns the addresses.
  // REQUIRES: not started.
  lib::Result<InterfaceAddresses> start();
  // Any thread except the monitor's. Returns when no callback is running.
  void stop();

 private:
  void run();
  void drain_events();
  void refresh();

  Options options_;
  lib::SteadyClock clock_;
  Debounce debounce_;
  InterfaceAddresses last_;
  AddressEvents events_;
  lib::WakeUp stop_event_;
  std::thread thread_;
};

}  // namespace sluice::node

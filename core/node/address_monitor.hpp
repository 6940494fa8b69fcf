// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Tells when the addresses of this node have changed. An own thread listens to the
// kernel's notifications; they are taken as a hint only: the addresses are read anew
// and compared, so that lost notifications (ENOBUFS), refreshed lifetimes and storms
// of a backend that sets many addresses cost one read and change nothing. Those of the link of service addresses
// are not even heard of.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/fd.hpp"
#include "core/base/status.hpp"
#include "core/node/address_events.hpp"
#include "core/node/addresses.hpp"
#include "core/node/debounce.hpp"

namespace sluice::node {

using InterfaceAddresses = std::vector<InterfaceAddress>;

class AddressMonitor {
 public:
  // `read` and `changed` run on the monitor's thread (`read` also in start()).
  struct Options {
    std::function<base::Result<InterfaceAddresses>()> read = read_node_addresses;
    std::function<void(const InterfaceAddresses&)> changed;
    DebounceOptions debounce;
    base::Clock::Duration retry = std::chrono::seconds(1);  // after a failed read
    AddressEvents::FindLink find_service_link{};            // empty: kube-ipvs0
  };

  explicit AddressMonitor(Options options)
      : options_(std::move(options)), debounce_(options_.debounce), events_(options_.find_service_link) {}
  ~AddressMonitor() { stop(); }
  AddressMonitor(const AddressMonitor&) = delete;
  AddressMonitor& operator=(const AddressMonitor&) = delete;

  // Subscribes, reads, starts the thread; in this order, so that no change falls
  // between. Returns the addresses of now. REQUIRES: not started.
  base::Result<InterfaceAddresses> start();
  // Any thread but the monitor's; returns when no callback runs any more.
  void stop();

 private:
  void run();
  void look();
  void refresh();

  Options options_;
  base::SteadyClock clock_;
  Debounce debounce_;
  InterfaceAddresses last_;
  AddressEvents events_;
  base::Fd wake_;  // eventfd: written to by stop()
  std::thread thread_;
};

}  // namespace sluice::node

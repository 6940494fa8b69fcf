// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Packets and bytes of Services, from counters of their frontends. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/model/model.hpp"

namespace sluice::nftables {

class Traffic {
 public:
  struct Sum {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };

  explicit Traffic(abi::Family family) : family_(family) {}

  // The model has changed: whose frontends are whose is asked for again.
  void forget_owners() { known_ = false; }
  // What has been counted since the last call, by Service ("ns/name"); those without traffic are left out. A counter
  // that is lower than it was began anew.
  std::map<std::string, Sum> take(const std::vector<TrafficCount>& counts, const Model& model);

 private:
  using Frontend = std::pair<bool, Key>;  // of node ports?
  struct Held {
    std::string service;
    Sum last;
  };
  void learn_owners(const Model& model);

  abi::Family family_;
  bool known_ = false;
  std::map<Frontend, Held> held_;
};

}  // namespace sluice::nftables

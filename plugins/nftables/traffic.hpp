// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Packets and bytes of Services, from counters of their frontends. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/values.hpp"

namespace sluice::nftables {

class Traffic {
 public:
  struct Sum {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };

  // By Service, "ns/name".
  struct News {
    std::map<std::string, Sum, std::less<>> more;  // since the last call; those without traffic are left out
    std::vector<std::string> gone;                 // those of an earlier `more` that have no frontends any more
  };

  explicit Traffic(abi::Family family) : family_(family) {}

  // `owner`: printed name of who has that frontend now, empty for nobody; it is asked once for each of `counts` and for each that
  // is missing among them. A counter that is lower than it was began anew.
  News take(const std::vector<TrafficCount>& counts, const std::function<std::string_view(const FrontendKey&)>& owner);

 private:
  using Frontend = std::pair<bool, Key>;  // of node ports?
  struct Hash {
    std::size_t operator()(const Frontend& frontend) const noexcept;
  };
  struct Held {
    Sum last;
    std::uint64_t round = 0;  // when it was met
  };

  abi::Family family_;
  std::uint64_t round_ = 0;
  std::unordered_map<Frontend, Held, Hash> held_;
  std::map<std::string, std::uint64_t, std::less<>> told_;  // Services, and when a frontend of theirs was met
};

}  // namespace sluice::nftables

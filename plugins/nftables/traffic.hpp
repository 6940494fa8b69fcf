// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sums the counters of frontends per Service. Pure.
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

#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

class Traffic {
 public:
  struct Sum {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };

  // By Service, "ns/name".
  struct Delta {
    std::map<std::string, Sum, std::less<>> growth;  // since the last call; only Services with traffic
    std::vector<std::string> gone;                   // Services reported earlier that have no frontends any more
  };

  explicit Traffic(abi::Family family) : family_(family) {}

  // `owner` returns the printed name of the service port that owns the frontend, or an empty string. It is called
  // once for each of `counts`, and for each frontend missing in them. A counter that decreased was reset.
  Delta take(const std::vector<TrafficCount>& counts, const std::function<std::string_view(const FrontendKey&)>& owner);

 private:
  using Frontend = std::pair<bool, Key>;  // is it a node port?
  struct Hash {
    std::size_t operator()(const Frontend& frontend) const noexcept;
  };
  struct Held {
    Sum last;
    std::uint64_t round = 0;  // round of the last listing that had it
  };

  abi::Family family_;
  std::uint64_t round_ = 0;
  std::unordered_map<Frontend, Held, Hash> held_;
  std::map<std::string, std::uint64_t, std::less<>>
      reported_;  // Services, and the last round that had one of their frontends
};

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Real servers that receive no new connections and wait for the last ones to end, each until its deadline. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "plugins/ipvs/server_types.hpp"

namespace sluice::ipvs {

class DrainList {
 public:
  using Deadline = std::uint64_t;  // nanoseconds of the monotonic clock
  static constexpr Deadline kNever = ~Deadline{0};
  using OfServer = std::map<RealServer, Deadline>;

  // A real server that drains already keeps its deadline.
  void add(const ServerKey& key, const RealServer& real, Deadline deadline);
  void remove(const ServerKey& key, const RealServer& real);
  void remove(const ServerKey& key);

  // Null: no real server of this virtual server drains.
  const OfServer* of(const ServerKey& key) const;
  const std::map<ServerKey, OfServer>& all() const noexcept { return drains_; }
  std::size_t size() const noexcept { return size_; }

  // Whether deadlines were added or removed since the last call.
  bool take_changed() noexcept;

 private:
  std::map<ServerKey, OfServer> drains_;
  std::size_t size_ = 0;
  bool changed_ = false;
};

}  // namespace sluice::ipvs

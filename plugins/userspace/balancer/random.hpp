// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// SplitMix64: a small random number generator, not for secrets. A value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::userspace {

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  // The period contains every 64-bit value once.
  std::uint64_t next() noexcept { return mix(state_ += 0x9E3779B97F4A7C15u); }

  // 0 <= result < `count`, which is at least 1 and below 2^32. The bias is less than count / 2^32.
  std::size_t below(std::size_t count) noexcept { return static_cast<std::size_t>(((next() >> 32) * count) >> 32); }

  // A bijection; each bit of the result depends on each bit of the argument.
  static std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace sluice::userspace

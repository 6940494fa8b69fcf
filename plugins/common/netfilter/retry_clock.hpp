// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// When to try again what was refused: after a minute, then after twice as long each
// time, at most an hour; from the beginning when something else is refused. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::netfilter {

class RetryClock {
 public:
  // What is refused was tried at `now`; `others` than before.
  void set(bool any, bool others, std::uint64_t now) noexcept {
    if (!any || others) pause_ = kFirst;
    at_ = any ? now + pause_ : kNever;
  }
  // Whether it is time; once for each time.
  bool due(std::uint64_t now) noexcept {
    if (now < at_) return false;
    pause_ = std::min(2 * pause_, kLast);
    at_ = now + pause_;
    return true;
  }

 private:
  static constexpr std::uint64_t kSecond = 1000ull * 1000 * 1000;
  static constexpr std::uint64_t kFirst = 60 * kSecond;
  static constexpr std::uint64_t kLast = 3600 * kSecond;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  std::uint64_t pause_ = kFirst;
  std::uint64_t at_ = kNever;
};

}  // namespace sluice::netfilter

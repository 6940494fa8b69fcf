// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Objects that were written but are missing or changed in the kernel, as one sentence. A value.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/text.hpp"

namespace sluice::netfilter {

class Drift {
 public:
  template <class Describe>
  void add(Describe describe) {
    if (++count_ <= kDescribed) first_.push_back(describe());
  }
  bool empty() const noexcept { return count_ == 0; }
  std::size_t count() const noexcept { return count_; }
  // The first few phrases and the number of the remaining ones.
  std::string describe() const {
    std::string text = lib::joined(first_, "; ");
    if (count_ > first_.size()) text.append("; and ").append(std::to_string(count_ - first_.size())).append(" more");
    return text;
  }

 private:
  static constexpr std::size_t kDescribed = 3;
  std::size_t count_ = 0;
  std::vector<std::string> first_;
};

}  // namespace sluice::netfilter

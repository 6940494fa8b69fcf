// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The options that a plugin declares in its descriptor, copied, so that they outlive the library. Immutable; any thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sluice/abi/options.hpp"

namespace sluice::plugin {

class DeclaredOptions {
 public:
  // REQUIRES: sdk::table_problem(table) is empty. Control characters in texts become spaces.
  explicit DeclaredOptions(const abi::ArrayView& table);
  DeclaredOptions(const DeclaredOptions&) = delete;
  DeclaredOptions& operator=(const DeclaredOptions&) = delete;

  const std::vector<abi::OptionSpec>& specs() const { return specs_; }

 private:
  std::deque<std::string> texts_;
  std::vector<abi::OptionSpec> specs_;  // refers to texts_
};

}  // namespace sluice::plugin

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The configuration section of a backend.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sluice/abi/entry.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// A copy of the flattened options, which stays valid after create().
class Options {
 public:
  Options() = default;
  explicit Options(const abi::ArrayView& options) {
    for (const abi::Option& option : range<abi::Option>(options)) {
      options_.emplace(text(option.key), text(option.value));
    }
  }

  bool has(std::string_view key) const { return options_.find(key) != options_.end(); }
  std::string get(std::string_view key, std::string_view otherwise = {}) const {
    const auto found = options_.find(key);
    return found == options_.end() ? std::string(otherwise) : found->second;
  }
  // All options, sorted by key, so that a backend can reject unknown ones.
  const std::map<std::string, std::string, std::less<>>& all() const noexcept { return options_; }

 private:
  std::map<std::string, std::string, std::less<>> options_;
};

}  // namespace sluice::sdk

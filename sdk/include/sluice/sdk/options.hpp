// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own configuration section.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sluice/abi/entry.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// A copy of the flattened options, so that it outlives create().
class Options {
 public:
  Options() = default;
  explicit Options(const abi::ArrayView& options) {
    for (const abi::Option& option : range<abi::Option>(options)) {
      values_.emplace(text(option.key), text(option.value));
    }
  }

  bool has(std::string_view key) const { return values_.find(key) != values_.end(); }
  std::string get(std::string_view key, std::string_view otherwise = {}) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::string(otherwise) : found->second;
  }
  // All of them, sorted by key; to refuse what the backend does not know.
  const std::map<std::string, std::string, std::less<>>& all() const noexcept { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace sluice::sdk

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

namespace sluice::observe {

// State and counters of the source for one kind of object, for status and metrics.
struct ResourceStatus {
  std::string kind;
  bool connected = false;  // listed and watching
  std::uint64_t lists = 0;
  std::uint64_t relists = 0;  // lists after the first
  std::uint64_t watches = 0;
  std::uint64_t errors = 0;
  std::string last_error;
};

}  // namespace sluice::observe

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

namespace sluice::observe {

// What the source has done for one kind of object so far, as status and metrics show it.
struct ResourceStatus {
  std::string kind;
  bool connected = false;  // listed, and changes are being received
  std::uint64_t lists = 0;
  std::uint64_t relists = 0;  // lists that had to follow a first one
  std::uint64_t watches = 0;
  std::uint64_t errors = 0;
  std::string last_error;
};

}  // namespace sluice::observe

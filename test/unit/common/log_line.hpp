// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A log line of a plugin as the daemon writes it: without its message id.
#pragma once

#include <string>

#include "sluice/abi/host.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::test {

inline std::string log_line(abi::StringView text) {
  const std::string line(sdk::text(text));
  return line.starts_with('[') ? line.substr(line.find("] ") + 2) : line;
}

}  // namespace sluice::test

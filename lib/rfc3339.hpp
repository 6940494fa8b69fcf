// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Formats a time as RFC 3339.
#pragma once

#include <chrono>
#include <string>

namespace sluice::lib {

// "2026-11-21T02:41:00.123Z"
std::string rfc3339(std::chrono::system_clock::time_point at);

}  // namespace sluice::lib

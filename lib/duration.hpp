// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Durations as text, in the format of Go and Kubernetes.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::lib {

// "1m30s", "1.5h", "-2ms", "0". Nothing above about 292 years.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace sluice::lib

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parses values of settings: numbers, and durations in Go syntax. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::settings {

// "1m30s", "1.5h", "250ms", "0"; not negative, at most 292 years. Rounded up to milliseconds, so that only zero gives
// 0.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace sluice::settings

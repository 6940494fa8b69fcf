// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How the values of settings are written: numbers, durations as Go writes them. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::settings {

// Decimal digits only.
std::optional<std::uint64_t> parse_count(std::string_view text);

// "1m30s", "1.5h", "250ms", "0"; not negative. Rounded up to whole milliseconds, so that only nothing is 0. Nothing
// above 292 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace sluice::settings

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How the values of settings are written: numbers, durations as Go writes them. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::settings {

// Decimal digits only.
std::optional<std::uint64_t> parse_count(std::string_view text);

// "1m30s", "1.5h", "250ms", "0"; not negative. Rounded up to whole milliseconds, so that only nothing is 0. Nothing
// above 292 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// The candidate with the fewest letters changed, added or dropped; empty when none is close enough to be a typing
// error.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace sluice::settings

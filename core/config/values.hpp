// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The format of values in flags and file: booleans, numbers and durations as in Go. No I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

inline constexpr std::string_view kBooleanAllowed = "allowed: true or false";
inline constexpr std::string_view kDurationAllowed =
    "allowed: numbers with a unit (ns, us, ms, s, m, h), such as 30s, 1m30s or 500ms";

// 1, t, T, true, True, TRUE and the same for false.
std::optional<bool> parse_boolean(std::string_view text);

// Decimal, 0x…, 0o… or 0…, 0b…; within 32 bits.
std::optional<std::int32_t> parse_number(std::string_view text);

// "5", "0.5", "1e3", "-1"; finite.
std::optional<double> parse_decimal(std::string_view text);

// The shortest text that lib::parse_duration() reads: "1m30s", "500ms", "0s".
std::string print_duration(std::chrono::nanoseconds duration);

// In Go's format: "1h0m0s", "1m30s", "250ms", "1.5s", "0s".
std::string go_duration(std::chrono::nanoseconds duration);

// A size in bytes as a Kubernetes quantity: "64", "64Ki", "1.5M", "1e3"; not negative.
std::optional<std::int64_t> parse_quantity(std::string_view text);

// Comma-separated parts; an empty text has none.
std::vector<std::string> split_list(std::string_view text);

}  // namespace sluice::config

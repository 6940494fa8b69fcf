// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Times as text in the format of RFC 3339: "2026-11-21T02:41:00.123Z".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::lib {

// Digits after the decimal point: 0, 3, 6, 9 or none if they are zero, as many as are not zero.
enum class Fraction { none, milliseconds, microseconds, nanoseconds_or_none, shortest };

// In UTC.
std::string rfc3339(std::chrono::system_clock::time_point at, Fraction fraction = Fraction::milliseconds);

// Absent if the text is not such a time.
std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);

}  // namespace sluice::lib

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/settings/values.hpp"

#include <cstdint>

#include "lib/number.hpp"

namespace sluice::settings {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
// A longer name comes before its prefix ("ms" before "m").
constexpr Unit kUnits[] = {{"ns", 1},          {"us", 1'000},        {"\u00b5s", 1'000},  // micro sign
                           {"\u03bcs", 1'000},                                            // Greek mu
                           {"ms", 1'000'000},  {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

constexpr std::uint64_t kLongest = std::uint64_t{1} << 63;  // nanoseconds

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

const Unit* take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

// The digits after the point, in nanoseconds; smaller fractions are dropped.
std::uint64_t fraction_of(std::string_view digits, std::uint64_t unit) {
  std::uint64_t out = 0;
  for (const char digit : digits) {
    out += unit * static_cast<std::uint64_t>(digit - '0') / 10;
    unit /= 10;
  }
  return out;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return std::chrono::milliseconds(0);
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    const std::string_view whole = take_digits(text);
    std::string_view fraction;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      fraction = take_digits(text);
    }
    if (whole.empty() && fraction.empty()) return std::nullopt;
    const Unit* const unit = take_unit(text);
    if (unit == nullptr) return std::nullopt;
    const auto count = whole.empty() ? std::optional<std::uint64_t>(0) : lib::parse_number<std::uint64_t>(whole);
    if (!count || *count > kLongest / unit->nanoseconds) return std::nullopt;
    total += *count * unit->nanoseconds + fraction_of(fraction, unit->nanoseconds);
    if (total > kLongest) return std::nullopt;
  }
  return std::chrono::milliseconds((total + 999'999) / 1'000'000);
}

}  // namespace sluice::settings

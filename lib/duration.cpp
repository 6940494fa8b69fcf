// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/duration.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lib/number.hpp"

namespace sluice::lib {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
// A name precedes its prefixes ("ms" before "m").
constexpr Unit kUnits[] = {{"ns", 1},          {"us", 1'000},        {"\u00b5s", 1'000},  // micro sign
                           {"\u03bcs", 1'000},                                            // Greek mu
                           {"ms", 1'000'000},  {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

const Unit* leading_unit(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) return &unit;
  }
  return nullptr;
}

std::size_t leading_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  return count;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  while (!text.empty()) {
    const std::size_t whole_digits = leading_digits(text);
    std::int64_t whole = 0;
    if (whole_digits != 0 && !read_number(text.substr(0, whole_digits), whole)) {
      return std::nullopt;
    }
    text.remove_prefix(whole_digits);
    long double fraction = 0;
    std::size_t fraction_digits = 0;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      fraction_digits = leading_digits(text);
      long double scale = 1;
      for (const char digit : text.substr(0, fraction_digits)) {
        scale /= 10;
        fraction += scale * (digit - '0');
      }
      text.remove_prefix(fraction_digits);
    }
    if (whole_digits == 0 && fraction_digits == 0) return std::nullopt;
    const Unit* unit = leading_unit(text);
    if (unit == nullptr) return std::nullopt;
    text.remove_prefix(unit->name.size());
    std::int64_t part = 0;
    if (__builtin_mul_overflow(whole, unit->nanoseconds, &part)) return std::nullopt;
    const auto rest = static_cast<std::int64_t>(std::llround(fraction * static_cast<long double>(unit->nanoseconds)));
    if (__builtin_add_overflow(part, rest, &part) || __builtin_add_overflow(total, part, &total)) return std::nullopt;
  }
  return std::chrono::nanoseconds(negative ? -total : total);
}

}  // namespace sluice::lib

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/values.hpp"

#include <cmath>
#include <limits>

#include "lib/number.hpp"
#include "lib/text.hpp"

namespace sluice::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

}  // namespace

std::optional<bool> parse_boolean(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "True", "TRUE"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "False", "FALSE"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::int32_t> parse_number(std::string_view text) {
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text.front() == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 && mark != 'o' && mark != 'O' ? 1 : 2);
  }
  std::int64_t value = 0;
  // A minus here would be a second sign.
  if (text.starts_with('-') || !lib::read_number(text, value, base)) return std::nullopt;
  if (negative) value = -value;
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(value);
}

std::optional<double> parse_decimal(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return lib::parse_number<double>(text);  // neither infinity nor NaN is within the default range
}

std::string print_duration(std::chrono::nanoseconds duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0s";
  std::string out;
  if (rest < 0) {
    out = "-";
    rest = -rest;
  }
  constexpr Unit kDown[] = {{"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000},
                            {"ms", 1'000'000},        {"us", 1'000},         {"ns", 1}};
  for (const Unit& unit : kDown) {
    if (rest >= unit.nanoseconds) out += std::to_string(rest / unit.nanoseconds) + std::string(unit.name);
    rest %= unit.nanoseconds;
  }
  return out;
}

std::string go_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const std::string sign = count < 0 ? "-" : "";
  const std::uint64_t size = count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
  // "12.5": a number of `unit` nanoseconds without zeros at its end.
  const auto with_fraction = [](std::uint64_t value, std::uint64_t unit) {
    std::string out = std::to_string(value / unit);
    std::string fraction = std::to_string(unit + value % unit).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return fraction.empty() ? out : out + "." + fraction;
  };
  if (size < 1'000) return sign + std::to_string(size) + "ns";
  if (size < 1'000'000) return sign + with_fraction(size, 1'000) + "\u00b5s";
  if (size < 1'000'000'000) return sign + with_fraction(size, 1'000'000) + "ms";
  constexpr std::uint64_t kMinute = 60'000'000'000;
  constexpr std::uint64_t kHour = 60 * kMinute;
  std::string out = sign;
  if (size >= kHour) out += std::to_string(size / kHour) + "h";
  if (size >= kMinute) out += std::to_string(size % kHour / kMinute) + "m";
  return out + with_fraction(size % kMinute, 1'000'000'000) + "s";
}

std::optional<std::int64_t> parse_quantity(std::string_view text) {
  struct Suffix {
    std::string_view name;
    double factor;
  };
  constexpr Suffix kSuffixes[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"k", 1e3},
                                  {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"m", 1e-3}};
  double factor = 1;
  for (const Suffix& suffix : kSuffixes) {
    if (!text.ends_with(suffix.name)) continue;
    factor = suffix.factor;
    text.remove_suffix(suffix.name.size());
    break;
  }
  const auto number = parse_decimal(text);
  constexpr double kLimit = 0x1p62;
  if (!number || *number < 0 || *number * factor > kLimit) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(*number * factor));
}

std::vector<std::string> split_list(std::string_view text) {
  return text.empty() ? std::vector<std::string>() : lib::split(text, ',');
}

}  // namespace sluice::config

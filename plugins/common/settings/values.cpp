// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/settings/values.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

namespace sluice::settings {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
// Longer names first where one begins with another ("ms" before "m").
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

// ".25" of a unit; digits below a nanosecond do not count.
std::uint64_t fraction_of(std::string_view digits, std::uint64_t unit) {
  std::uint64_t out = 0;
  for (const char digit : digits) {
    out += unit * static_cast<std::uint64_t>(digit - '0') / 10;
    unit /= 10;
  }
  return out;
}

// Levenshtein's, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

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
    const auto count = whole.empty() ? std::optional<std::uint64_t>(0) : parse_count(whole);
    if (!count || *count > kLongest / unit->nanoseconds) return std::nullopt;
    total += *count * unit->nanoseconds + fraction_of(fraction, unit->nanoseconds);
    if (total > kLongest) return std::nullopt;
  }
  return std::chrono::milliseconds((total + 999'999) / 1'000'000);
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // A third of the letters wrong is a typing error; more is another word.
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    const std::size_t letters = distance(name, candidate);
    if (letters >= best || letters >= candidate.size()) continue;
    best = letters;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace sluice::settings

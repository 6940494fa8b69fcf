// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/rfc3339.hpp"

#include <cstdint>
#include <cstdio>
#include <ctime>

namespace sluice::lib {
namespace {

// Takes `count` digits from the front; -1 if there are fewer.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

// Converts the digits after the decimal point to nanoseconds; finer digits are truncated.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  std::int64_t nanoseconds = 0;
  std::int64_t unit = 100'000'000;
  bool any = false;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    nanoseconds += (text.front() - '0') * unit;
    unit /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? std::optional(nanoseconds) : std::nullopt;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const int y = take_digits(text, 4);
  if (y < 0 || !take(text, '-')) return std::nullopt;
  const int mo = take_digits(text, 2);
  if (mo < 0 || !take(text, '-')) return std::nullopt;
  const int d = take_digits(text, 2);
  if (d < 0 || !(take(text, 'T') || take(text, 't'))) return std::nullopt;
  const int h = take_digits(text, 2);
  if (h < 0 || h > 23 || !take(text, ':')) return std::nullopt;
  const int mi = take_digits(text, 2);
  if (mi < 0 || mi > 59 || !take(text, ':')) return std::nullopt;
  const int s = take_digits(text, 2);
  if (s < 0 || s > 60) return std::nullopt;
  std::int64_t fraction = 0;
  if (take(text, '.')) {
    const auto digits = take_fraction(text);
    if (!digits) return std::nullopt;
    fraction = *digits;
  }

  minutes offset{0};
  if (!take(text, 'Z') && !take(text, 'z')) {
    const bool west = take(text, '-');
    if (!west && !take(text, '+')) return std::nullopt;
    const int oh = take_digits(text, 2);
    if (oh < 0 || oh > 23 || !take(text, ':')) return std::nullopt;
    const int om = take_digits(text, 2);
    if (om < 0 || om > 59) return std::nullopt;
    offset = minutes(oh * 60 + om);
    if (west) offset = -offset;
  }
  const year_month_day date{year(y), month(static_cast<unsigned>(mo)), day(static_cast<unsigned>(d))};
  // Nanoseconds since 1970 overflow in 2262.
  if (!text.empty() || !date.ok() || y < 1970 || y > 2200) return std::nullopt;
  const auto whole = sys_days(date) + hours(h) + minutes(mi) + seconds(s) - offset;
  return system_clock::time_point(
      duration_cast<system_clock::duration>(whole.time_since_epoch() + nanoseconds(fraction)));
}

std::string rfc3339(std::chrono::system_clock::time_point at, Fraction fraction) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(at);
  const std::time_t time = system_clock::to_time_t(whole);
  const auto rest = static_cast<int>(duration_cast<nanoseconds>(at - whole).count());
  std::tm parts{};
  gmtime_r(&time, &parts);
  char out[32];
  std::string text(out, std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%S", &parts));
  if (fraction == Fraction::none || (fraction == Fraction::nanoseconds_or_none && rest == 0)) return text + "Z";
  std::snprintf(out, sizeof out, ".%09d", rest);
  text.append(out, fraction == Fraction::milliseconds ? 4 : fraction == Fraction::microseconds ? 7 : 10);
  if (fraction == Fraction::shortest) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + "Z";
}

}  // namespace sluice::lib

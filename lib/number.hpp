// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Numbers in text.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sluice::lib {

// The number at the beginning of `text`, which is removed from it. Absent, with `text` unchanged, if there is none or
// it does not fit. A minus is accepted for signed types; a plus, blanks and "0x" are not.
template <class T>
std::optional<T> take_number(std::string_view& text, int base = 10) noexcept {
  T value{};
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) {
    result = std::from_chars(text.data(), text.data() + text.size(), value);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  }
  if (result.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
  return value;
}

// The same for the whole of `text`. Also absent if the number is not in `lowest`..`highest`.
template <class T>
std::optional<T> parse_number(std::string_view text, T lowest = std::numeric_limits<T>::lowest(),
                              T highest = std::numeric_limits<T>::max()) noexcept {
  const auto value = take_number<T>(text);
  return value && text.empty() && *value >= lowest && *value <= highest ? value : std::nullopt;
}

// The same, stored in `out`; false if it is absent.
template <class T>
bool read_number(std::string_view text, T& out, int base = 10) noexcept {
  const auto value = take_number<T>(text, base);
  if (!value || !text.empty()) return false;
  out = *value;
  return true;
}

// Hexadecimal digits.
template <class T>
std::optional<T> parse_hex(std::string_view text) noexcept {
  const auto value = take_number<T>(text, 16);
  return text.empty() ? value : std::nullopt;
}

// First and last port of "a-b", "a+n" (n ports more than the first) or "a". Zeros if the text is empty or `a` is 0.
inline std::optional<std::pair<std::uint16_t, std::uint16_t>> parse_port_range(std::string_view text) noexcept {
  if (text.empty()) return std::pair<std::uint16_t, std::uint16_t>{};
  const auto mark = text.find_first_of("-+");
  const auto low = parse_number<std::uint16_t>(text.substr(0, mark));
  const auto high = mark == std::string_view::npos ? low : parse_number<std::uint16_t>(text.substr(mark + 1));
  if (!low || !high) return std::nullopt;
  const unsigned last = mark != std::string_view::npos && text[mark] == '+' ? *low + unsigned{*high} : *high;
  if (last < *low || last > 65535) return std::nullopt;
  return std::pair(*low, static_cast<std::uint16_t>(*low == 0 ? 0u : last));
}

}  // namespace sluice::lib

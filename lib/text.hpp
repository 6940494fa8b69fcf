// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Small jobs with texts and lists.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "lib/number.hpp"

namespace sluice::lib {

// Without white space at both ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// `text_of` makes a text of each value.
template <class Range, class TextOf = std::identity>
std::string joined(const Range& range, std::string_view between = ", ", const TextOf& text_of = {}) {
  std::string out;
  std::string_view before = "";
  for (const auto& value : range) {
    out.append(before).append(std::invoke(text_of, value));
    before = between;
  }
  return out;
}

// Two digits: "7f".
inline std::string hex_byte(unsigned char byte, std::string_view digits = "0123456789abcdef") {
  return {digits[byte >> 4], digits[byte & 15]};
}

// Encodes @ as %40, and all other characters but those in `plain`.
inline std::string percent_encoded(std::string_view text, std::string_view plain) {
  std::string out;
  for (const char c : text) {
    out += plain.find(c) != std::string_view::npos ? std::string(1, c) : '%' + hex_byte(c, "0123456789ABCDEF");
  }
  return out;
}

// Decodes %40 to @. Keeps a percent sign that is not followed by two hexadecimal digits, and returns false then.
inline bool decode_percent(std::string_view text, std::string& out) {
  bool valid = true;
  for (; !text.empty(); text.remove_prefix(1)) {
    unsigned char byte = text[0];
    if (text[0] == '%') {
      const bool encoded = text.size() > 2 && read_number(text.substr(1, 2), byte, 16);
      if (encoded) text.remove_prefix(2);
      valid = valid && encoded;
    }
    out += static_cast<char>(byte);
  }
  return valid;
}

// Removes the part before the first separator, and the separator, from `text`. Returns that part.
inline std::string_view take_part(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

// The parts between the separators: one more than there are separators.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (bool more = true; more;) {
    more = text.find(separator) != std::string_view::npos;
    parts.emplace_back(take_part(text, separator));
  }
  return parts;
}

// With small letters instead of the capital ones of ASCII, in every locale.
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

// Sorts `items` and removes repeated ones.
template <class T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace sluice::lib

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Small jobs with texts and lists.
#pragma once

#include <algorithm>
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

inline std::string joined(const std::vector<std::string>& texts, std::string_view between = ", ") {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out.append(between);
    out.append(text);
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

// Sorts `values` and removes repeated ones.
template <class T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace sluice::lib

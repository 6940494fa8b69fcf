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

// Sorts `values` and removes repeated ones.
template <class T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace sluice::lib

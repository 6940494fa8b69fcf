// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Small jobs with texts and lists.
#pragma once

#include <algorithm>
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

inline std::string joined(const std::vector<std::string>& texts, std::string_view between = ", ") {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) out.append(between);
    out.append(text);
  }
  return out;
}

// Sorts `items` and removes repeated ones.
template <class T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace sluice::lib

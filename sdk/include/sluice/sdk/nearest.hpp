// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds the most similar name, for "did you mean …?" in error messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace sluice::sdk {

// The Levenshtein distance of two names.
inline std::size_t letters_apart(std::string_view a, std::string_view b) {
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

// Returns the candidate with the smallest distance, the first of several, or an empty view if none is similar enough to be
// a typing error. `candidates` is any range of std::string_view; the result refers to one of them. May throw
// std::bad_alloc.
template <class Candidates>
std::string_view nearest_name(std::string_view name, const Candidates& candidates) {
  // If more than a third of the letters differ, it is another word.
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    const std::size_t apart = letters_apart(name, candidate);
    if (apart >= best || apart >= candidate.size()) continue;
    best = apart;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace sluice::sdk

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Aligned columns of text. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice::ctl {

class Columns {
 public:
  // `heads`: of the columns. Columns from `first_number` on are aligned to the right.
  explicit Columns(std::vector<std::string> heads, std::size_t first_number = static_cast<std::size_t>(-1))
      : first_number_(first_number), rows_{std::move(heads)} {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // A line below the last row, outside of the columns.
  void add_note(std::string line) { rows_.push_back({std::move(line)}); }

  std::string text() const;

 private:
  const std::size_t first_number_;
  std::vector<std::vector<std::string>> rows_;  // a row with one cell of several columns is a note
};

}  // namespace sluice::ctl

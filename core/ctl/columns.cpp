// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/columns.hpp"

#include <algorithm>

namespace sluice::ctl {

std::string Columns::text() const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns, 0);
  for (const auto& row : rows_) {
    if (row.size() != columns) continue;
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows_) {
    if (row.size() != columns) {
      out += row.front() + "\n";
      continue;
    }
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      if (i != 0) line += "  ";
      line += i >= first_number_ ? space + row[i] : row[i] + space;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace sluice::ctl

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/kernel_lines.hpp"

#include <algorithm>

#include "lib/ip.hpp"

namespace sluice::observe {
namespace {

constexpr std::string_view kArrow = " -> ";
// Follows an endpoint that gets no new connections, and is thus not among the delivered endpoints.
constexpr std::string_view kDrains = " (drains)";

// Calls `piece` for each part, separated by ", ", between " -> " and the next ";".
template <class F>
void each_piece(std::string_view line, F&& piece) {
  for (auto arrow = line.find(kArrow); arrow != std::string_view::npos; arrow = line.find(kArrow, arrow + 1)) {
    std::size_t begin = arrow + kArrow.size();
    const std::size_t end = std::min(line.find(';', begin), line.size());
    for (bool first = true; begin <= end; first = false) {
      const std::size_t comma = std::min(line.find(", ", begin), end);
      piece(begin, comma, first);
      begin = comma == end ? end + 1 : comma + 2;
    }
  }
}

}  // namespace

KernelLines::KernelLines(const std::vector<std::string>& lines) : lines_(lines), taken_(lines.size(), false) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::string_view line = lines_[i];
    const auto name = line.find(' ');
    const auto frontend = name == std::string_view::npos ? name : line.find(' ', name + 1);
    if (frontend != std::string_view::npos) places_.emplace(line.substr(0, frontend), i);
  }
}

std::optional<std::size_t> KernelLines::take(const std::string& frontend) {
  const auto place = places_.find(frontend);
  if (place == places_.end()) return std::nullopt;
  taken_[place->second] = true;
  return place->second;
}

std::vector<std::size_t> KernelLines::untaken() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!taken_[i]) out.push_back(i);
  }
  return out;
}

Agreement compare(std::string_view kernel_line, const std::set<std::string>& endpoints) {
  if (kernel_line.empty()) return Agreement::missing;
  std::set<std::string> found;
  std::size_t draining = 0;
  each_piece(kernel_line, [&](std::size_t begin, std::size_t end, bool) {
    const std::string_view piece = kernel_line.substr(begin, end - begin);
    if (lib::SocketAddress::parse(piece)) found.emplace(piece);
    if (piece.ends_with(kDrains)) ++draining;
  });
  std::size_t remarks = 0;
  for (auto at = kernel_line.find(" ("); at != std::string_view::npos; at = kernel_line.find(" (", at + 1)) ++remarks;
  return remarks == draining && found == endpoints ? Agreement::as_given : Agreement::differs;
}

std::string shortened(std::string_view line, std::size_t most) {
  std::string out;
  std::size_t copied = 0;  // of `line`
  std::size_t in_list = 0;
  std::size_t hidden = 0;
  const auto close = [&] {
    if (hidden != 0) out += " and " + std::to_string(hidden) + " more";
    hidden = 0;
  };
  each_piece(line, [&](std::size_t begin, std::size_t end, bool first) {
    if (first) {
      close();
      in_list = 0;
    }
    // A remark may follow an endpoint: "10.180.0.1:80 (drains)".
    const std::string_view piece = line.substr(begin, end - begin);
    if (lib::SocketAddress::parse(piece.substr(0, piece.find(' '))) && ++in_list > most) {
      ++hidden;
      copied = end;
      return;
    }
    out += line.substr(copied, end - copied);
    copied = end;
  });
  close();
  return out += line.substr(copied);
}

}  // namespace sluice::observe

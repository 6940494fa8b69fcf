// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lines in which a backend prints the kernel state (abi::Inspection), by frontend. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::observe {

class KernelLines {
 public:
  // `lines` must outlive it.
  explicit KernelLines(const std::vector<std::string>& lines);

  // The index of the line that begins with this frontend_text(), if there is one. Two frontends may share a line.
  std::optional<std::size_t> take(const std::string& frontend);
  // The lines that no take() has returned, in order.
  std::vector<std::size_t> untaken() const;
  std::string_view operator[](std::size_t index) const { return lines_[index]; }

 private:
  const std::vector<std::string>& lines_;
  std::vector<bool> taken_;
  std::unordered_map<std::string, std::size_t> places_;  // of frontends in lines_
};

enum class Agreement : std::uint8_t {
  not_read,  // the backend cannot read the kernel, or the request excludes it
  as_given,
  differs,  // the kernel has other endpoints, or the line has a remark in parentheses
  missing,  // the kernel has no rule for this frontend
};
Agreement compare(std::string_view kernel_line, const std::set<std::string>& endpoints);

// `line` with at most `most` endpoints in each list, followed by "and N more".
std::string shortened(std::string_view line, std::size_t most);

}  // namespace sluice::observe

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lines in which a backend prints what the kernel has (abi::Inspection), by the frontend that each is about. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::observe {

class KernelLines {
 public:
  // `lines` outlives it.
  explicit KernelLines(const std::vector<std::string>& lines);

  // The line that begins with this frontend_text(), or empty. Two frontends may ask for the same.
  std::string_view take(const std::string& frontend);
  // Those that no take() has returned, in their order.
  std::vector<std::string> untaken() const;

 private:
  const std::vector<std::string>& lines_;
  std::vector<bool> taken_;
  std::unordered_map<std::string, std::size_t> places_;  // of frontends in lines_
};

enum class Agreement : std::uint8_t {
  not_read,  // the backend cannot read the kernel, or was not asked to
  as_given,
  differs,  // the kernel leads to other endpoints, or the line has a remark in parentheses
  missing,  // the kernel has nothing for this frontend
};
Agreement compare(std::string_view kernel_line, const std::set<std::string>& endpoints);

// `line` with at most `most` endpoints in each of its lists, and how many more there are.
std::string shortened(std::string_view line, std::size_t most);

}  // namespace sluice::observe

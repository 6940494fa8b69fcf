// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A repeated string held once: names of nodes, zones, ports and namespaces occur in
// every endpoint, so an endpoint holds 4 bytes for each instead of a string.
//
// The table only grows: it is bounded by the number of different names the cluster
// ever had, which is small beside the objects that use them. Any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sluice::base {

class Symbol {
 public:
  Symbol() = default;  // the empty string
  explicit Symbol(std::string_view text);
  std::string_view text() const;  // valid for the life of the process
  bool empty() const { return id_ == 0; }
  std::uint32_t id() const { return id_; }
  bool operator==(const Symbol&) const = default;

 private:
  std::uint32_t id_ = 0;
};

}  // namespace sluice::base

template <>
struct std::hash<sluice::base::Symbol> {
  std::size_t operator()(const sluice::base::Symbol& s) const noexcept { return s.id(); }
};

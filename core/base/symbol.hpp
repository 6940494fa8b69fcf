// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A repeated string held once: names of nodes, zones, ports and namespaces occur in every endpoint, so an endpoint
// holds 4 bytes for each instead of a string.
//
// The table drops a text with its last Symbol, because tenants choose these names and can create any number of them.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace sluice::base {

class Symbol {
 public:
  Symbol() = default;  // the empty string
  explicit Symbol(std::string_view text);
  Symbol(const Symbol& other) noexcept : id_(other.id_) {
    if (id_ != 0) hold(id_);
  }
  Symbol(Symbol&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  Symbol& operator=(Symbol other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Symbol() {
    if (id_ != 0) release(id_);
  }

  // Valid as long as this Symbol, or another one with the same text.
  std::string_view text() const noexcept;
  bool empty() const noexcept { return id_ == 0; }
  // Two Symbols that live at the same time have the same number if and only if they have the same text.
  std::uint32_t id() const noexcept { return id_; }
  bool operator==(const Symbol& other) const noexcept { return id_ == other.id_; }

  // The number of texts in the table.
  static std::size_t held();

 private:
  static void hold(std::uint32_t id) noexcept;
  static void release(std::uint32_t id) noexcept;

  std::uint32_t id_ = 0;
};

}  // namespace sluice::base

template <>
struct std::hash<sluice::base::Symbol> {
  std::size_t operator()(const sluice::base::Symbol& s) const noexcept { return s.id(); }
};

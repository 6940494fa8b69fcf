// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The output of iptables-save, piece by piece as it arrives, as tables, chains and rules. Tolerant: what cannot be
// understood is counted and skipped. Holds one line at most.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::netfilter {

class SaveReader {
 public:
  SaveReader() = default;
  SaveReader(const SaveReader&) = delete;
  SaveReader& operator=(const SaveReader&) = delete;

  void feed(std::string_view piece);
  // Call once at the end: takes a last line without line feed.
  void finish();

  // Each table that was opened has been closed: the text is not cut off.
  bool complete() const noexcept { return !in_table_ && !cut_; }
  std::size_t malformed() const noexcept { return malformed_; }

 protected:
  ~SaveReader() = default;

  virtual void on_table(std::string_view name) = 0;
  // Of the last table.
  virtual void on_chain(std::string_view name, bool built_in) = 0;
  // `rule` is what follows the name of the chain, which has not always been announced by on_chain().
  virtual void on_rule(std::string_view chain, std::string_view rule) = 0;

 private:
  // Longer lines are skipped: no rule of iptables comes near.
  static constexpr std::size_t kLineLimit = 64 * 1024;

  void line(std::string_view text);
  void chain_line(std::string_view text);
  void rule_line(std::string_view text);

  bool in_table_ = false;
  std::string partial_;
  bool skipping_ = false;
  bool cut_ = false;
  std::size_t malformed_ = 0;
};

}  // namespace sluice::netfilter

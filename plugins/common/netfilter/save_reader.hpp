// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Splits the output of iptables-save, piece by piece as it arrives, into tables, chains and rules. Tolerant: malformed
// lines are counted and skipped. Buffers one line at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::netfilter {

// What a rule has matched, or a policy has decided.
struct Counts {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

class SaveReader {
 public:
  SaveReader() = default;
  SaveReader(const SaveReader&) = delete;
  SaveReader& operator=(const SaveReader&) = delete;

  void append(std::string_view piece);
  // Call once at the end: processes a last line without a newline.
  void finish();

  // Every table ends with COMMIT, so the text is not truncated.
  bool complete() const noexcept { return !in_table_ && !cut_; }
  std::size_t malformed() const noexcept { return malformed_; }

 protected:
  ~SaveReader() = default;

  virtual void on_table(std::string_view name) = 0;
  // A chain of the last table.
  virtual void on_chain(std::string_view name, bool built_in) = 0;
  // `rule` is the text after the name of the chain. There may be no on_chain() call for that chain.
  virtual void on_rule(std::string_view chain, std::string_view rule) = 0;

  // During on_chain(): the policy of a built-in chain, "ACCEPT" or "DROP".
  std::string_view policy() const noexcept { return policy_; }
  // During on_chain(), where user-defined chains have 0, and on_rule(): empty if the text has no counters.
  const std::optional<Counts>& counts() const noexcept { return counts_; }

 private:
  // Longer lines are skipped; iptables rules are much shorter.
  static constexpr std::size_t kLineLimit = 64 * 1024;

  void line(std::string_view text);
  void chain_line(std::string_view text);
  void rule_line(std::string_view text);

  bool in_table_ = false;
  std::string partial_;
  bool skipping_ = false;
  bool cut_ = false;
  std::size_t malformed_ = 0;
  std::string_view policy_;
  std::optional<Counts> counts_;
};

}  // namespace sluice::netfilter

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parses the output of iptables-save, piece by piece as it arrives, into a Ruleset. Any input is safe: bad text only
// leads to wrong entries in the Ruleset.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/common/netfilter/canonical.hpp"
#include "plugins/common/netfilter/ruleset.hpp"
#include "plugins/common/netfilter/save_reader.hpp"

namespace sluice::netfilter {

class SaveParser final : public SaveReader {
 public:
  // Whether to store the text of the rules of this chain.
  using KeepText = std::function<bool(std::string_view table, std::string_view chain, bool built_in)>;
  // Called for each rule with its chain, target and hash.
  using OnRule = std::function<void(std::string_view table, std::string_view chain, std::string_view target,
                                    std::uint64_t hash)>;

  // Whether comments of rules in this chain are ignored.
  using IgnoreComments = std::function<bool(std::string_view table, std::string_view chain)>;

  // Called after the last rule of a chain whose text is stored: whether its text is not needed.
  using DropText = std::function<bool(std::string_view table, std::string_view chain, const Chain& content)>;

  // `into` outlives the parser.
  SaveParser(Ruleset& into, KeepText keep_text, OnRule on_rule = {}, IgnoreComments ignore_comments = {});

  using SaveReader::counts;  // during OnRule
  // Before the first append().
  void set_drop_text(DropText drop_text) { drop_text_ = std::move(drop_text); }

 private:
  void on_table(std::string_view name) override;
  void on_chain(std::string_view name, bool built_in) override;
  void on_rule(std::string_view chain, std::string_view rule) override;
  Chain& find_or_make(std::string_view name, bool built_in);
  void leave_chain();

  Ruleset& into_;
  KeepText keep_text_;
  OnRule on_rule_;
  IgnoreComments ignore_comments_;
  DropText drop_text_;
  Canonicaliser canonicaliser_;
  Ruleset::Chains* table_ = nullptr;
  std::string table_name_;
  // The chain of the last rule. Rules come grouped by chain, so each chain is looked up once.
  Chain* chain_ = nullptr;
  std::string chain_name_;
  bool keep_ = false;
  bool without_comments_ = false;
};

}  // namespace sluice::netfilter

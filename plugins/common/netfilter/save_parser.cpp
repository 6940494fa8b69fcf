// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/save_parser.hpp"

#include <utility>

namespace sluice::netfilter {

SaveParser::SaveParser(Ruleset& into, KeepText keep_text, OnRule on_rule, IgnoreComments ignore_comments)
    : into_(into), keep_text_(std::move(keep_text)), on_rule_(std::move(on_rule)),
      ignore_comments_(std::move(ignore_comments)) {}

void SaveParser::leave_chain() {
  if (chain_ == nullptr || !keep_ || !drop_text_) return;
  if (drop_text_(table_name_, chain_name_, *chain_)) chain_->rules = {};
}

void SaveParser::on_table(std::string_view name) {
  leave_chain();
  table_name_ = name;
  table_ = &into_.make_table(table_name_);
  chain_ = nullptr;
}

Chain& SaveParser::find_or_make(std::string_view name, bool built_in) {
  const auto found = table_->find(name);
  if (found != table_->end()) return found->second;
  Chain& made = table_->emplace(name, Chain()).first->second;
  made.built_in = built_in;
  return made;
}

void SaveParser::on_chain(std::string_view name, bool built_in) { find_or_make(name, built_in).built_in = built_in; }

void SaveParser::on_rule(std::string_view chain, std::string_view rule) {
  if (chain_ == nullptr || chain_name_ != chain) {
    leave_chain();
    chain_ = &find_or_make(chain, false);
    chain_name_ = chain;
    keep_ = keep_text_ && keep_text_(table_name_, chain_name_, chain_->built_in);
    without_comments_ = ignore_comments_ && ignore_comments_(table_name_, chain_name_);
  }
  const std::uint64_t hash = without_comments_ ? canonicaliser_.hash_without_comments(rule) : canonicaliser_.hash(rule);
  chain_->content = fold(chain_->content, hash);
  ++chain_->rule_count;
  if (keep_) chain_->rules.push_back({hash, std::string(rule)});
  if (on_rule_) on_rule_(table_name_, chain_name_, canonicaliser_.target(), hash);
}

}  // namespace sluice::netfilter

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/save_parser.hpp"

#include <algorithm>
#include <utility>

namespace sluice::netfilter {
namespace {

// The first word of `text`, which is moved behind it.
std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(std::min(text.find_first_not_of(" \t", end), text.size()));
  return word;
}

}  // namespace

SaveParser::SaveParser(Ruleset& into, KeepText keep_text, OnRule on_rule, IgnoreComments ignore_comments)
    : into_(into), keep_text_(std::move(keep_text)), on_rule_(std::move(on_rule)),
      ignore_comments_(std::move(ignore_comments)) {}

void SaveParser::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const bool whole = end != std::string_view::npos;
    const std::string_view part = piece.substr(0, end);
    piece.remove_prefix(whole ? end + 1 : piece.size());
    if (!skipping_ && partial_.size() + part.size() > kLineLimit) {
      skipping_ = true;
      partial_.clear();
      ++malformed_;
    }
    if (whole) {
      if (!skipping_) line(partial_.empty() ? part : std::string_view(partial_.append(part)));
      partial_.clear();
      skipping_ = false;
    } else if (!skipping_) {
      partial_.append(part);
    }
  }
}

void SaveParser::finish() {
  if (!partial_.empty()) line(partial_);
  cut_ = cut_ || skipping_ || table_ != nullptr;
  partial_.clear();
}

void SaveParser::line(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty() || text[0] == '#') return;
  if (text[0] == '*') {
    cut_ = cut_ || table_ != nullptr;
    table_name_ = text.substr(1);
    table_ = &into_.make_table(table_name_);
    chain_ = nullptr;
  } else if (table_ == nullptr) {
    ++malformed_;
  } else if (text[0] == ':') {
    chain_line(text.substr(1));
  } else if (text == "COMMIT") {
    table_ = nullptr;
  } else {
    rule_line(text);
  }
}

Chain& SaveParser::find_or_make(std::string_view name, bool built_in) {
  const auto found = table_->find(name);
  if (found != table_->end()) return found->second;
  Chain& made = table_->emplace(name, Chain()).first->second;
  made.built_in = built_in;
  return made;
}

// ":NAME POLICY [packets:bytes]"; a chain made by a user has "-" for a policy.
void SaveParser::chain_line(std::string_view text) {
  const std::string_view name = next_word(text);
  const std::string_view policy = next_word(text);
  if (name.empty() || policy.empty()) {
    ++malformed_;
    return;
  }
  find_or_make(name, policy != "-").built_in = policy != "-";
}

// "[packets:bytes] -A NAME rule", the counters being there only with --counters.
void SaveParser::rule_line(std::string_view text) {
  if (text[0] == '[') next_word(text);
  const std::string_view verb = next_word(text);
  const std::string_view name = next_word(text);
  if ((verb != "-A" && verb != "--append") || name.empty()) {
    ++malformed_;
    return;
  }
  if (chain_ == nullptr || chain_name_ != name) {
    chain_ = &find_or_make(name, false);
    chain_name_ = name;
    keep_ = keep_text_ && keep_text_(table_name_, chain_name_, chain_->built_in);
    without_comments_ = ignore_comments_ && ignore_comments_(table_name_, chain_name_);
  }
  const std::uint64_t hash = without_comments_ ? canonicaliser_.hash_without_comments(text) : canonicaliser_.hash(text);
  chain_->content = fold(chain_->content, hash);
  ++chain_->rule_count;
  if (keep_) chain_->rules.push_back({hash, std::string(text)});
  if (on_rule_) on_rule_(table_name_, chain_name_, canonicaliser_.target(), hash);
}

}  // namespace sluice::netfilter

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/save_reader.hpp"

#include <algorithm>

#include "lib/number.hpp"

namespace sluice::netfilter {
namespace {

// Removes the first word from `text` and returns it.
std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(std::min(text.find_first_not_of(" \t", end), text.size()));
  return word;
}

// "[7:420]".
std::optional<Counts> parse_counts(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto packets = lib::parse_number<std::uint64_t>(text.substr(0, colon));
  const auto bytes = lib::parse_number<std::uint64_t>(text.substr(std::min(colon + 1, text.size())));
  return packets && bytes ? std::optional(Counts{*packets, *bytes}) : std::nullopt;
}

}  // namespace

void SaveReader::append(std::string_view piece) {
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

void SaveReader::finish() {
  if (!partial_.empty()) line(partial_);
  cut_ = cut_ || skipping_ || in_table_;
  partial_.clear();
}

void SaveReader::line(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  if (text.empty() || text[0] == '#') return;
  if (text[0] == '*') {
    cut_ = cut_ || in_table_;
    in_table_ = true;
    on_table(text.substr(1));
  } else if (!in_table_) {
    ++malformed_;
  } else if (text[0] == ':') {
    chain_line(text.substr(1));
  } else if (text == "COMMIT") {
    in_table_ = false;
  } else {
    rule_line(text);
  }
}

// ":NAME POLICY [packets:bytes]"; a user-defined chain has the policy "-".
void SaveReader::chain_line(std::string_view text) {
  const std::string_view name = next_word(text);
  const std::string_view policy = next_word(text);
  if (name.empty() || policy.empty()) {
    ++malformed_;
    return;
  }
  policy_ = policy;
  counts_ = parse_counts(text);
  on_chain(name, policy != "-");
}

// "[packets:bytes] -A NAME rule"; the counters are printed only with --counters.
void SaveReader::rule_line(std::string_view text) {
  counts_.reset();
  if (text[0] == '[') counts_ = parse_counts(next_word(text));
  const std::string_view verb = next_word(text);
  const std::string_view name = next_word(text);
  if ((verb != "-A" && verb != "--append") || name.empty()) {
    ++malformed_;
    return;
  }
  on_rule(name, text);
}

}  // namespace sluice::netfilter

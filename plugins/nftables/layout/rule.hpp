// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rules of nf_tables, as values to send and to compare. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/types.hpp"

struct nftnl_rule;

namespace sluice::nftables {

struct Rule {
  std::string text;         // one expression per line, as libnftnl prints it; rules are equal if it is equal
  std::string expressions;  // content of NFTA_RULE_EXPRESSIONS
  std::string comment;      // as nft shows it; may be empty
  // Compares a rule we made with a listed rule. The bytes of a listed rule differ, the text does not.
  friend bool operator==(const Rule& a, const Rule& b) { return a.text == b.text && a.comment == b.comment; }
};

// Decodes a listed rule; `expressions` stays empty.
Rule read_rule(const nftnl_rule* rule);

// In one line, with the expressions as `nft --debug=netlink` shows them: "[ immediate reg 0 drop ]".
std::string rule_text(const Rule& rule);

struct BaseHook {
  std::string type;        // "filter", "nat"
  std::uint32_t hook = 0;  // NF_INET_…
  std::int32_t priority = 0;
  friend bool operator==(const BaseHook&, const BaseHook&) = default;
};

struct ChainSpec {
  std::string name;
  bool is_base = false;
  BaseHook hook;  // of base chains; their policy is accept
  std::string comment;
  std::vector<Rule> rules;
};

}  // namespace sluice::nftables

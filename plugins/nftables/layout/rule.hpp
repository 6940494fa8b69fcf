// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Rules of nf_tables: made here, sent and compared elsewhere. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/types.hpp"

struct nftnl_rule;

namespace sluice::nftables {

struct Rule {
  std::string text;         // one expression a line as libnftnl prints it: equal texts are equal rules
  std::string expressions;  // content of NFTA_RULE_EXPRESSIONS, as it is sent
  std::string comment;      // as nft shows it; may be empty
  // What the kernel tells compares with what was made: the bytes it tells differ, the text does not.
  friend bool operator==(const Rule& a, const Rule& b) { return a.text == b.text && a.comment == b.comment; }
};

// Of a rule the kernel has told; `expressions` stays empty.
Rule read_rule(const nftnl_rule* rule);

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

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/portal_listing.hpp"

#include <functional>

#include "lib/number.hpp"
#include "plugins/common/netfilter/rule_words.hpp"
#include "plugins/common/netfilter/save_parser.hpp"

namespace sluice::userspace {
namespace {

using netfilter::Table;

}  // namespace

std::uint16_t proxy_port_of(std::string_view text) {
  return lib::parse_number<std::uint16_t>(text.substr(text.rfind(':') + 1)).value_or(0);
}

std::optional<std::size_t> find_portal_chain(std::string_view table, std::string_view chain) {
  for (std::size_t i = 0; i < kPortalChains.size(); ++i) {
    if (chain == kPortalChains[i].name && table == netfilter::table_name(kPortalChains[i].table)) return i;
  }
  return std::nullopt;
}

const netfilter::Chain* PortalListing::chain(std::size_t index) const {
  return rules.chain(netfilter::table_name(kPortalChains[index].table), kPortalChains[index].name);
}

namespace {

std::string place_of(std::string_view table, std::string_view chain) {
  return std::string(table).append(" ").append(chain);
}

PortalListing collect(const std::function<void(netfilter::SaveReader&)>& read) {
  PortalListing listing;
  const netfilter::SaveParser* reading = nullptr;
  netfilter::SaveParser parser(
      listing.rules,
      [](std::string_view table, std::string_view chain, bool built_in) {
        return built_in || find_portal_chain(table, chain);
      },
      [&](std::string_view table, std::string_view chain, std::string_view target, std::uint64_t) {
        if (reading->counts()) listing.counts[place_of(table, chain)].push_back(*reading->counts());
        if (!target.starts_with("KUBE-")) return;
        const auto to = find_portal_chain(table, target);
        const netfilter::Chain* from = listing.rules.chain(table, chain);
        if (to && !find_portal_chain(table, chain) && !(from != nullptr && from->built_in))
          listing.foreign_references.insert(*to);
      });
  reading = &parser;
  read(parser);
  return listing;
}

}  // namespace

PortalListing list_portals(netfilter::KernelSession& session) {
  return collect([&](netfilter::SaveReader& reader) { session.list(reader); });
}

PortalListing read_portals(netfilter::KernelSession& session) {
  return collect([&](netfilter::SaveReader& reader) { session.read(reader, true); });
}

std::optional<netfilter::Counts> counts_of(const PortalListing& listing, netfilter::Table table, std::string_view chain,
                                           const netfilter::Rule& rule) {
  const netfilter::Chain* const from = listing.rules.chain(netfilter::table_name(table), chain);
  const auto counted = listing.counts.find(place_of(netfilter::table_name(table), chain));
  if (from == nullptr || counted == listing.counts.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(&rule - from->rules.data());
  return index < counted->second.size() ? std::optional(counted->second[index]) : std::nullopt;
}

PortalRuleText read_portal_rule(std::string_view rule) {
  PortalRuleText read;
  std::vector<netfilter::RuleWord> words;
  std::string unquoted;
  netfilter::split_rule(rule, words, unquoted);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text == "--comment") {
      read.comment = words[++i].text;
    } else if (words[i].text == "-p") {
      read.protocol = words[++i].text;
    } else if (words[i].text == "-j") {
      read.target = words[++i].text;
    } else if (words[i].text == "--to-ports" || words[i].text == "--to-destination") {
      read.proxy_port = proxy_port_of(words[++i].text);
    }
  }
  return read;
}

PortalJumps find_jumps(const PortalListing& listing) {
  PortalJumps found;
  for (const Table table : {Table::kFilter, Table::kNat}) {
    const netfilter::Ruleset::Chains* chains = listing.rules.table(netfilter::table_name(table));
    if (chains == nullptr) continue;
    for (const auto& [name, chain] : *chains) {
      if (!chain.built_in) continue;
      for (std::size_t i = 0; i < chain.rules.size(); ++i) {
        if (chain.rules[i].text.find("KUBE-") == std::string::npos) continue;
        const PortalRuleText read = read_portal_rule(chain.rules[i].text);
        const auto to = find_portal_chain(netfilter::table_name(table), read.target);
        if (!to) continue;
        std::vector<PortalJump>& jumps = is_jump_comment(read.comment) ? found.ours : found.foreign;
        jumps.push_back({table, name, i, *to, chain.rules[i]});
      }
    }
  }
  return found;
}

}  // namespace sluice::userspace

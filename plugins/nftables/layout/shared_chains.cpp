// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains that many Services share (BEH 7.3), and what they are called.

#include <charconv>
#include <optional>
#include <string_view>

#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/nftables/layout/pieces.hpp"
#include "plugins/nftables/values.hpp"

namespace sluice::nftables {
namespace {

using Kind = Treatment::Kind;

constexpr std::string_view kNodePortPrefix = "nodeport-";
constexpr std::string_view kStickyPrefix = "sticky-";
constexpr std::string_view kFirewallPrefix = "firewall-";
constexpr std::size_t kHashSize = 16;

std::string_view kind_prefix(Kind kind) {
  switch (kind) {
    case Kind::kCluster:
      return "endpoints-";
    case Kind::kLocal:
      return "local-endpoints-";
    case Kind::kExternal:
      return "external-";
    case Kind::kExternalLocal:
      break;
  }
  return "external-local-";
}

bool take_prefix(std::string_view& from, std::string_view prefix) {
  if (!from.starts_with(prefix)) return false;
  from.remove_prefix(prefix.size());
  return true;
}

// Only as we write it.
std::optional<std::uint32_t> take_number(std::string_view& from) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), number);
  if (error != std::errc() || (from.front() == '0' && end - from.data() > 1)) return std::nullopt;
  from.remove_prefix(static_cast<std::size_t>(end - from.data()));
  return number;
}

bool is_firewall_name(std::string_view name) {
  if (!take_prefix(name, kFirewallPrefix) || name.size() != kHashSize) return false;
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == std::string_view::npos;
}

Treatment balancing(const Treatment& of, Kind kind) {
  Treatment to;
  to.kind = kind;
  to.node_port = of.node_port;
  to.affinity_seconds = of.affinity_seconds;
  (kind == Kind::kLocal ? to.local : to.cluster) = kind == Kind::kLocal ? of.local : of.cluster;
  return to;
}

// One of a list, by chance.
std::vector<Rule> balance(abi::Family family, const Treatment& treatment, const Field& slot) {
  RuleBuilder rule(family);
  if (treatment.node_port) {
    rule.translate({{Field::Kind::kProtocol}, {Field::Kind::kPort}, slot}, "nodeport-endpoints");
  } else {
    rule.translate({{Field::Kind::kDestination}, {Field::Kind::kProtocol}, {Field::Kind::kPort}, slot}, "endpoints");
  }
  std::vector<Rule> rules;
  rules.push_back(rule.make());
  return rules;
}

// The same as last time, or else one by chance, which is remembered. The priority is what is handed from one look-up to
// the next: the id of the Service's memory, then the token of an endpoint, which has the id in it.
std::vector<Rule> balance_sticky(abi::Family family, const Treatment& treatment, const Field& slot) {
  using Memory = RuleBuilder::Memory;
  static constexpr const char* kMemory = "affinity";
  const Fields endpoint = {{Field::Kind::kProtocol}, {Field::Kind::kPriority}};
  const char* endpoints = treatment.kind == Kind::kLocal ? "affinity-local-endpoints" : "affinity-endpoints";
  const std::uint32_t seconds = treatment.affinity_seconds;
  const auto rule = [family] { return RuleBuilder(family); };

  std::vector<Rule> rules;
  rules.push_back(treatment.node_port ? rule().priority_from(kNodePortFields, "affinity-nodeports").make()
                                      : rule().priority_from(kFrontendFields, "affinity-services").make());
  rules.push_back(rule()
                      .priority_from({{Field::Kind::kPriority}, {Field::Kind::kSource}}, kMemory)
                      .memory(Memory::kRefresh, kMemory, seconds)
                      .translate(endpoint, endpoints)
                      .make("a client that is remembered"));
  rules.push_back(rule().priority_id().memory(Memory::kForget, kMemory, 0).make("its endpoint is gone"));
  rules.push_back(rule()
                      .priority_from({{Field::Kind::kPriority}, slot}, "affinity-slots")
                      .memory(Memory::kAdd, kMemory, seconds)
                      .translate(endpoint, endpoints)
                      .make("a new client"));
  rules.push_back(rule().translate(endpoint, endpoints).make("no room to remember it"));
  return rules;
}

std::vector<Rule> external(const LayoutFacts& facts, const Treatment& treatment) {
  std::vector<Rule> rules;
  rules.push_back(RuleBuilder(facts.family).set_mark(facts.masquerade_mark).make("masquerade"));
  if (treatment.cluster != 0) {
    rules.push_back(RuleBuilder(facts.family).go(chain_name(balancing(treatment, Kind::kCluster))).make());
  }
  return rules;
}

std::vector<Rule> external_local(const LayoutFacts& facts, const Treatment& treatment) {
  std::vector<Rule> rules;
  if (treatment.cluster != 0) {
    const std::string cluster = chain_name(balancing(treatment, Kind::kCluster));
    if (knows_local(facts)) {
      RuleBuilder pods(facts.family);
      rules.push_back(match_local(pods, facts, false).go(cluster).make("short-circuit pod traffic"));
    }
    rules.push_back(
        RuleBuilder(facts.family).from_this_node().set_mark(facts.masquerade_mark).make("masquerade local traffic"));
    rules.push_back(RuleBuilder(facts.family).from_this_node().go(cluster).make("short-circuit local traffic"));
  }
  if (treatment.local != 0) {
    rules.push_back(RuleBuilder(facts.family).go(chain_name(balancing(treatment, Kind::kLocal))).make());
  }
  return rules;
}

}  // namespace

std::string chain_name(const Treatment& treatment) {
  std::string name;
  if (treatment.node_port) name += kNodePortPrefix;
  if (treatment.affinity_seconds != 0) {
    name += kStickyPrefix;
    name += std::to_string(treatment.affinity_seconds) + '-';
  }
  name += kind_prefix(treatment.kind);
  if (treatment.kind != Kind::kLocal) name += std::to_string(treatment.cluster);
  if (treatment.kind == Kind::kExternalLocal) name += '-';
  if (treatment.kind == Kind::kLocal || treatment.kind == Kind::kExternalLocal) name += std::to_string(treatment.local);
  return name;
}

bool is_shared_chain(std::string_view name) {
  if (is_firewall_name(name)) return true;
  take_prefix(name, kNodePortPrefix);
  if (take_prefix(name, kStickyPrefix) && (!take_number(name) || !take_prefix(name, "-"))) return false;
  if (take_prefix(name, kind_prefix(Kind::kExternalLocal))) {
    return take_number(name) && take_prefix(name, "-") && take_number(name) && name.empty();
  }
  for (const auto kind : {Kind::kCluster, Kind::kLocal, Kind::kExternal}) {
    if (take_prefix(name, kind_prefix(kind))) return take_number(name) && name.empty();
  }
  return false;
}

std::vector<Treatment> depends_on(const Treatment& treatment) {
  std::vector<Treatment> on;
  if (treatment.kind != Kind::kExternal && treatment.kind != Kind::kExternalLocal) return on;
  if (treatment.cluster != 0) on.push_back(balancing(treatment, Kind::kCluster));
  if (treatment.kind == Kind::kExternalLocal && treatment.local != 0) on.push_back(balancing(treatment, Kind::kLocal));
  return on;
}

ChainSpec treatment_chain(const LayoutFacts& facts, const Treatment& treatment) {
  ChainSpec chain;
  chain.name = chain_name(treatment);
  if (treatment.kind == Kind::kExternal) {
    chain.rules = external(facts, treatment);
  } else if (treatment.kind == Kind::kExternalLocal) {
    chain.rules = external_local(facts, treatment);
  } else {
    const bool local = treatment.kind == Kind::kLocal;
    const Field slot{Field::Kind::kRandom, local ? treatment.local : treatment.cluster, local ? kLocalSlots : 0};
    if (slot.modulus == 0) return chain;  // nobody there to go to
    chain.rules = treatment.affinity_seconds != 0 ? balance_sticky(facts.family, treatment, slot)
                                                  : balance(facts.family, treatment, slot);
  }
  return chain;
}

std::string firewall_chain_name(const std::vector<abi::Prefix>& allowed) {
  std::string list;
  for (const auto& prefix : allowed) {
    list.append(reinterpret_cast<const char*>(prefix.address.bytes), sizeof(prefix.address.bytes));
    list += static_cast<char>(prefix.length);
  }
  const auto hash = netfilter::base32_hash(list);
  return std::string(kFirewallPrefix) + std::string(hash.data(), hash.size());
}

ChainSpec firewall_chain(const LayoutFacts& facts, const std::vector<abi::Prefix>& allowed) {
  ChainSpec chain;
  chain.name = firewall_chain_name(allowed);
  for (const auto& prefix : allowed) chain.rules.push_back(RuleBuilder(facts.family).from(prefix).back().make());
  chain.rules.push_back(RuleBuilder(facts.family).drop().make());
  return chain;
}

}  // namespace sluice::nftables

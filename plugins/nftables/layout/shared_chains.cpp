// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains that many Services share (BEH 7.3), and what they are called.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/nftables/layout/pieces.hpp"
#include "plugins/nftables/values.hpp"

namespace sluice::nftables {
namespace {

using TreatmentKind = Treatment::Kind;

constexpr std::string_view kNodePortPrefix = "nodeport-";
constexpr std::string_view kStickyPrefix = "sticky-";
constexpr std::string_view kFirewallPrefix = "firewall-";
constexpr std::size_t kHashSize = 16;

std::string_view kind_prefix(TreatmentKind kind) {
  switch (kind) {
    case TreatmentKind::kCluster:
      return "endpoints-";
    case TreatmentKind::kLocal:
      return "local-endpoints-";
    case TreatmentKind::kExternal:
      return "external-";
    case TreatmentKind::kExternalLocal:
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

Treatment balancing(const Treatment& of, TreatmentKind kind) {
  Treatment to;
  to.kind = kind;
  to.node_port = of.node_port;
  to.affinity_seconds = of.affinity_seconds;
  (kind == TreatmentKind::kLocal ? to.local : to.cluster) = kind == TreatmentKind::kLocal ? of.local : of.cluster;
  return to;
}

// A packet asks several maps, each as it is at that moment: when a list becomes shorter in between, the packet is in the
// chain for the longer one, and the slot it chose may be gone. There are rules for that case behind those that find an
// endpoint, which end the evaluation.
constexpr const char* kShorter = "the list has just become shorter";

// One of a list, by chance. The map is asked in a chain of its own: the kernel walks all of a map whenever another chain
// begins to use it, and a new length of a list must not cost more the more endpoints there are.
std::vector<Rule> balance(abi::Family family, const Treatment& treatment, const Field& slot) {
  std::vector<Rule> rules;
  rules.push_back(
      RuleBuilder(family).priority_slot(slot).go(slot_chain_name(treatment.node_port, slot.offset == kLocalSlots)).make());
  return rules;
}

// The same as last time, or else one by chance, which is remembered. The priority is what is handed from one look-up to
// the next: the id of the Service's memory, then the token of an endpoint, which has the id in it.
std::vector<Rule> balance_sticky(abi::Family family, const Treatment& treatment, const Field& slot) {
  using Memory = RuleBuilder::Memory;
  static constexpr const char* kAffinityMap = "affinity";
  const Fields endpoint = {{Field::Kind::kProtocol}, {Field::Kind::kPriority}};
  const char* endpoints = treatment.kind == TreatmentKind::kLocal ? "affinity-local-endpoints" : "affinity-endpoints";
  const std::uint32_t seconds = treatment.affinity_seconds;
  const auto rule = [family] { return RuleBuilder(family); };

  std::vector<Rule> rules;
  rules.push_back(treatment.node_port ? rule().priority_from(kNodePortFields, "affinity-nodeports").make()
                                      : rule().priority_from(kFrontendFields, "affinity-services").make());
  rules.push_back(rule()
                      .priority_from({{Field::Kind::kPriority}, {Field::Kind::kSource}}, kAffinityMap)
                      .memory(Memory::kRefresh, kAffinityMap, seconds)
                      .translate(endpoint, endpoints)
                      .make("a client that is remembered"));
  const auto choose = [&](const Field& chosen, const char* gone, const char* comment) {
    rules.push_back(rule().priority_id().memory(Memory::kForget, kAffinityMap, 0).make(gone));
    rules.push_back(rule()
                        .priority_from({{Field::Kind::kPriority}, chosen}, "affinity-slots")
                        .memory(Memory::kAdd, kAffinityMap, seconds)
                        .translate(endpoint, endpoints)
                        .make(comment));
    rules.push_back(rule().translate(endpoint, endpoints).make("no room to remember it"));
  };
  choose(slot, "its endpoint is gone", "a new client");
  // A single slot, too, has another token when its endpoint was replaced in between.
  choose({Field::Kind::kRandom, 1, slot.offset}, "its endpoint has just gone", kShorter);
  return rules;
}

std::vector<Rule> external(const LayoutFacts& facts, const Treatment& treatment) {
  std::vector<Rule> rules;
  rules.push_back(RuleBuilder(facts.family).set_mark(facts.masquerade_mark).make("masquerade"));
  if (treatment.cluster != 0) {
    rules.push_back(RuleBuilder(facts.family).go(chain_name(balancing(treatment, TreatmentKind::kCluster))).make());
  }
  return rules;
}

std::vector<Rule> external_local(const LayoutFacts& facts, const Treatment& treatment) {
  std::vector<Rule> rules;
  if (treatment.cluster != 0) {
    const std::string cluster = chain_name(balancing(treatment, TreatmentKind::kCluster));
    if (knows_local(facts)) {
      RuleBuilder pods(facts.family);
      rules.push_back(match_local(pods, facts, false).go(cluster).make("short-circuit pod traffic"));
    }
    rules.push_back(
        RuleBuilder(facts.family).from_this_node().set_mark(facts.masquerade_mark).make("masquerade local traffic"));
    rules.push_back(RuleBuilder(facts.family).from_this_node().go(cluster).make("short-circuit local traffic"));
  }
  if (treatment.local != 0) {
    rules.push_back(RuleBuilder(facts.family).go(chain_name(balancing(treatment, TreatmentKind::kLocal))).make());
  }
  return rules;
}

}  // namespace

std::string slot_chain_name(bool node_port, bool local) {
  std::string name;
  if (node_port) name += kNodePortPrefix;
  if (local) name += "local-";
  return name + "endpoint";
}

ChainSpec slot_chain(abi::Family family, bool node_port, bool local) {
  const Field slot{Field::Kind::kPriority};
  const auto to_slot = [&](RuleBuilder rule, const char* comment) {
    if (node_port) {
      rule.translate({{Field::Kind::kProtocol}, {Field::Kind::kPort}, slot}, "nodeport-endpoints");
    } else {
      rule.translate({{Field::Kind::kDestination}, {Field::Kind::kProtocol}, {Field::Kind::kPort}, slot}, "endpoints");
    }
    return rule.make(comment);
  };
  RuleBuilder first(family);
  first.set_priority(local ? kLocalSlots : kClusterSlots);
  ChainSpec chain;
  chain.name = slot_chain_name(node_port, local);
  chain.rules.push_back(to_slot(RuleBuilder(family), ""));
  chain.rules.push_back(to_slot(std::move(first), kShorter));
  return chain;
}

std::string chain_name(const Treatment& treatment) {
  std::string name;
  if (treatment.node_port) name += kNodePortPrefix;
  if (treatment.affinity_seconds != 0) {
    name += kStickyPrefix;
    name += std::to_string(treatment.affinity_seconds) + '-';
  }
  name += kind_prefix(treatment.kind);
  if (treatment.kind != TreatmentKind::kLocal) name += std::to_string(treatment.cluster);
  if (treatment.kind == TreatmentKind::kExternalLocal) name += '-';
  if (treatment.kind == TreatmentKind::kLocal || treatment.kind == TreatmentKind::kExternalLocal) name += std::to_string(treatment.local);
  return name;
}

bool is_shared_chain(std::string_view name) {
  if (is_firewall_name(name)) return true;
  take_prefix(name, kNodePortPrefix);
  if (take_prefix(name, kStickyPrefix) && (!take_number(name) || !take_prefix(name, "-"))) return false;
  if (take_prefix(name, kind_prefix(TreatmentKind::kExternalLocal))) {
    return take_number(name) && take_prefix(name, "-") && take_number(name) && name.empty();
  }
  for (const auto kind : {TreatmentKind::kCluster, TreatmentKind::kLocal, TreatmentKind::kExternal}) {
    if (take_prefix(name, kind_prefix(kind))) return take_number(name) && name.empty();
  }
  return false;
}

std::vector<Treatment> depends_on(const Treatment& treatment) {
  std::vector<Treatment> on;
  if (treatment.kind != TreatmentKind::kExternal && treatment.kind != TreatmentKind::kExternalLocal) return on;
  if (treatment.cluster != 0) on.push_back(balancing(treatment, TreatmentKind::kCluster));
  if (treatment.kind == TreatmentKind::kExternalLocal && treatment.local != 0) on.push_back(balancing(treatment, TreatmentKind::kLocal));
  return on;
}

ChainSpec treatment_chain(const LayoutFacts& facts, const Treatment& treatment) {
  ChainSpec chain;
  chain.name = chain_name(treatment);
  if (treatment.kind == TreatmentKind::kExternal) {
    chain.rules = external(facts, treatment);
  } else if (treatment.kind == TreatmentKind::kExternalLocal) {
    chain.rules = external_local(facts, treatment);
  } else {
    const bool local = treatment.kind == TreatmentKind::kLocal;
    const Field slot{Field::Kind::kRandom, local ? treatment.local : treatment.cluster, local ? kLocalSlots : kClusterSlots};
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

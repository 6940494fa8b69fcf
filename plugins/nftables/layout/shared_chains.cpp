// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Chains that Services share (BEH 7.3), and their names.

#include <optional>
#include <string_view>
#include <utility>

#include "lib/number.hpp"
#include "plugins/common/netfilter/base32_hash.hpp"
#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/layout/pieces.hpp"

namespace sluice::nftables {
namespace {

using ClassKind = ServiceClass::Kind;

constexpr std::string_view kNodePortPrefix = "nodeport-";
constexpr std::string_view kStickyPrefix = "sticky-";
constexpr std::string_view kFirewallPrefix = "firewall-";
constexpr std::size_t kHashSize = 16;

std::string_view kind_prefix(ClassKind kind) {
  switch (kind) {
    case ClassKind::kCluster:
      return "endpoints-";
    case ClassKind::kLocal:
      return "local-endpoints-";
    case ClassKind::kExternal:
      return "external-";
    case ClassKind::kExternalLocal:
      break;
  }
  return "external-local-";
}

bool take_prefix(std::string_view& from, std::string_view prefix) {
  if (!from.starts_with(prefix)) return false;
  from.remove_prefix(prefix.size());
  return true;
}

// Only in the format that chain_name() writes.
std::optional<std::uint32_t> take_number(std::string_view& from) {
  const std::string_view before = from;
  const auto number = lib::take_number<std::uint32_t>(from);
  return before.starts_with('0') && before.size() - from.size() > 1 ? std::nullopt : number;
}

bool is_firewall_name(std::string_view name) {
  if (!take_prefix(name, kFirewallPrefix) || name.size() != kHashSize) return false;
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == std::string_view::npos;
}

ServiceClass balancing(const ServiceClass& of, ClassKind kind) {
  ServiceClass to;
  to.kind = kind;
  to.node_port = of.node_port;
  to.affinity_seconds = of.affinity_seconds;
  (kind == ClassKind::kLocal ? to.local : to.cluster) = kind == ClassKind::kLocal ? of.local : of.cluster;
  return to;
}

// Set elements change while a packet traverses the rules: if a list shrinks meanwhile, the packet may have chosen a
// slot that is gone. Rules behind the successful translation, which ends the evaluation, handle that case.
constexpr const char* kShrunkComment = "the list has just become shorter";

// Selects a random endpoint. The map lookup is in a chain of its own: the kernel walks the whole map when another
// chain starts to use it, so a new list length would cost more with every endpoint.
std::vector<Rule> balance(abi::Family family, const ServiceClass& service_class, const Field& slot) {
  std::vector<Rule> rules;
  rules.push_back(RuleBuilder(family)
                      .priority_slot(slot)
                      .go(slot_chain_name(service_class.node_port, slot.offset == kLocalSlots))
                      .make());
  return rules;
}

// Selects the endpoint of the last connection, or a random one, which is stored. The priority carries values between
// lookups: the affinity id, then the token, which contains the id.
std::vector<Rule> balance_sticky(abi::Family family, const ServiceClass& service_class, const Field& slot) {
  using AffinityOp = RuleBuilder::AffinityOp;
  static constexpr const char* kAffinityMap = "affinity";
  const Fields endpoint = {{Field::Kind::kProtocol}, {Field::Kind::kPriority}};
  const char* endpoints = service_class.kind == ClassKind::kLocal ? "affinity-local-endpoints" : "affinity-endpoints";
  const std::uint32_t seconds = service_class.affinity_seconds;
  const auto rule = [family] { return RuleBuilder(family); };

  std::vector<Rule> rules;
  rules.push_back(service_class.node_port ? rule().set_priority_from(kNodePortFields, "affinity-nodeports").make()
                                          : rule().set_priority_from(kFrontendFields, "affinity-services").make());
  rules.push_back(rule()
                      .set_priority_from({{Field::Kind::kPriority}, {Field::Kind::kSource}}, kAffinityMap)
                      .update_affinity(AffinityOp::kRefresh, kAffinityMap, seconds)
                      .translate(endpoint, endpoints)
                      .make("a client that is remembered"));
  const auto choose = [&](const Field& chosen, const char* gone, const char* comment) {
    rules.push_back(rule().priority_id().update_affinity(AffinityOp::kDelete, kAffinityMap, 0).make(gone));
    rules.push_back(rule()
                        .set_priority_from({{Field::Kind::kPriority}, chosen}, "affinity-slots")
                        .update_affinity(AffinityOp::kAdd, kAffinityMap, seconds)
                        .translate(endpoint, endpoints)
                        .make(comment));
    rules.push_back(rule().translate(endpoint, endpoints).make("no room to remember it"));
  };
  choose(slot, "its endpoint is gone", "a new client");
  // Even a single slot may have another token if its endpoint was replaced meanwhile.
  choose({Field::Kind::kRandom, 1, slot.offset}, "its endpoint has just gone", kShrunkComment);
  return rules;
}

std::vector<Rule> external(const LayoutFacts& facts, const ServiceClass& service_class) {
  std::vector<Rule> rules;
  rules.push_back(RuleBuilder(facts.family).set_mark(facts.masquerade_mark).make("masquerade"));
  if (service_class.cluster != 0) {
    rules.push_back(RuleBuilder(facts.family).go(chain_name(balancing(service_class, ClassKind::kCluster))).make());
  }
  return rules;
}

std::vector<Rule> external_local(const LayoutFacts& facts, const ServiceClass& service_class) {
  std::vector<Rule> rules;
  if (service_class.cluster != 0) {
    const std::string cluster = chain_name(balancing(service_class, ClassKind::kCluster));
    if (can_match_local(facts)) {
      RuleBuilder pods(facts.family);
      rules.push_back(match_local(pods, facts, /*inverted=*/false).go(cluster).make("short-circuit pod traffic"));
    }
    rules.push_back(
        RuleBuilder(facts.family).from_this_node().set_mark(facts.masquerade_mark).make("masquerade local traffic"));
    rules.push_back(RuleBuilder(facts.family).from_this_node().go(cluster).make("short-circuit local traffic"));
  }
  if (service_class.local != 0) {
    rules.push_back(RuleBuilder(facts.family).go(chain_name(balancing(service_class, ClassKind::kLocal))).make());
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
  chain.rules.push_back(to_slot(std::move(first), kShrunkComment));
  return chain;
}

std::string chain_name(const ServiceClass& service_class) {
  std::string name;
  if (service_class.node_port) name += kNodePortPrefix;
  if (service_class.affinity_seconds != 0) {
    name += kStickyPrefix;
    name += std::to_string(service_class.affinity_seconds) + '-';
  }
  name += kind_prefix(service_class.kind);
  if (service_class.kind != ClassKind::kLocal) name += std::to_string(service_class.cluster);
  if (service_class.kind == ClassKind::kExternalLocal) name += '-';
  if (service_class.kind == ClassKind::kLocal || service_class.kind == ClassKind::kExternalLocal)
    name += std::to_string(service_class.local);
  return name;
}

bool is_shared_chain(std::string_view name) {
  if (is_firewall_name(name)) return true;
  take_prefix(name, kNodePortPrefix);
  if (take_prefix(name, kStickyPrefix) && (!take_number(name) || !take_prefix(name, "-"))) return false;
  if (take_prefix(name, kind_prefix(ClassKind::kExternalLocal))) {
    return take_number(name) && take_prefix(name, "-") && take_number(name) && name.empty();
  }
  for (const auto kind : {ClassKind::kCluster, ClassKind::kLocal, ClassKind::kExternal}) {
    if (take_prefix(name, kind_prefix(kind))) return take_number(name) && name.empty();
  }
  return false;
}

std::vector<ServiceClass> depends_on(const ServiceClass& service_class) {
  std::vector<ServiceClass> on;
  if (service_class.kind != ClassKind::kExternal && service_class.kind != ClassKind::kExternalLocal) return on;
  if (service_class.cluster != 0) on.push_back(balancing(service_class, ClassKind::kCluster));
  if (service_class.kind == ClassKind::kExternalLocal && service_class.local != 0)
    on.push_back(balancing(service_class, ClassKind::kLocal));
  return on;
}

ChainSpec class_chain(const LayoutFacts& facts, const ServiceClass& service_class) {
  ChainSpec chain;
  chain.name = chain_name(service_class);
  if (service_class.kind == ClassKind::kExternal) {
    chain.rules = external(facts, service_class);
  } else if (service_class.kind == ClassKind::kExternalLocal) {
    chain.rules = external_local(facts, service_class);
  } else {
    const bool local = service_class.kind == ClassKind::kLocal;
    const Field slot{Field::Kind::kRandom, local ? service_class.local : service_class.cluster,
                     local ? kLocalSlots : kClusterSlots};
    if (slot.modulus == 0) return chain;  // no endpoints
    chain.rules = service_class.affinity_seconds != 0 ? balance_sticky(facts.family, service_class, slot)
                                                      : balance(facts.family, service_class, slot);
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

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/kernel_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::iptables {
namespace {

using netfilter::RuleFields;

constexpr std::string_view kJumpSeparator = " ";

std::string jump_text(Table table, std::string_view from, std::string_view to) {
  return std::string(netfilter::table_name(table))
      .append(kJumpSeparator)
      .append(from)
      .append(kJumpSeparator)
      .append(to);
}

std::optional<Place> place_of_address(const RuleFields& rule) {
  if (!rule.is_for_address()) return std::nullopt;
  return Place{false, rule.destination->prefix.address, *rule.port, *rule.protocol};
}

bool is_from_this_node(const RuleFields& rule) {
  return rule.conditions() == RuleFields::kSourceLocal && rule.source_local == RuleFields::Local::kYes;
}

}  // namespace

std::string_view name_in_comment(std::string_view comment) noexcept { return comment.substr(0, comment.find(' ')); }

bool KernelRules::has_jump(Table table, std::string_view from, std::string_view to) const {
  return std::find(jumps_.begin(), jumps_.end(), jump_text(table, from, to)) != jumps_.end();
}

void KernelRules::on_table(std::string_view name) {
  table_.reset();
  for (const Table table : {Table::kNat, Table::kFilter}) {
    if (netfilter::table_name(table) == name) table_ = table;
  }
  entered_ = false;
}

void KernelRules::on_chain(std::string_view name, bool) {
  if (!table_) return;
  enter(name);
  if (id_) count_rules();  // records the chain even if it is empty
}

void KernelRules::enter(std::string_view chain) {
  if (entered_ && chain_ == chain) return;
  chain_ = chain;
  entered_ = true;
  id_.reset();
  shared_.reset();
  decode_ = decoder_of(chain);
}

KernelRules::Decode KernelRules::decoder_of(std::string_view chain) {
  struct Named {
    Table table;
    std::string_view name;
    Decode decode;
  };
  static constexpr std::array<Named, 7> kBuiltIn{{{Table::kNat, "PREROUTING", &KernelRules::read_built_in},
                                                  {Table::kNat, "OUTPUT", &KernelRules::read_built_in},
                                                  {Table::kNat, "POSTROUTING", &KernelRules::read_built_in},
                                                  {Table::kFilter, "INPUT", &KernelRules::read_built_in},
                                                  {Table::kFilter, "OUTPUT", &KernelRules::read_built_in},
                                                  {Table::kFilter, "FORWARD", &KernelRules::read_built_in},
                                                  {Table::kNat, kPostrouting, &KernelRules::read_postrouting}}};
  static constexpr std::array<Decode, kSharedChains.size()> kShared{
      &KernelRules::read_refusal,       &KernelRules::read_refusal,  &KernelRules::read_health_check,
      &KernelRules::read_firewall_drop, &KernelRules::read_services, &KernelRules::read_node_ports};
  static constexpr std::array<Decode, kChainKinds.size()> kKinds{
      &KernelRules::read_firewall, &KernelRules::read_external, &KernelRules::read_balancing,
      &KernelRules::read_balancing, &KernelRules::read_endpoint};
  for (const Named& one : kBuiltIn) {
    if (one.table == *table_ && one.name == chain) return one.decode;
  }
  shared_ = parse_shared(netfilter::table_name(*table_), chain);
  if (shared_) return kShared[static_cast<std::size_t>(*shared_)];
  if (*table_ != Table::kNat) return nullptr;
  if (chain == kMarkMasquerade) return &KernelRules::read_mark;
  id_ = parse_chain(chain);
  return id_ ? kKinds[static_cast<std::size_t>(id_->kind)] : nullptr;
}

// Creates the entry of the current chain.
std::size_t& KernelRules::count_rules() {
  switch (id_->kind) {
    case ChainKind::kFirewall:
      return firewalls[id_->hash].rules;
    case ChainKind::kExternal:
      return externals[id_->hash].rules;
    case ChainKind::kCluster:
      return clusters[id_->hash].rules;
    case ChainKind::kLocal:
      return locals[id_->hash].rules;
    case ChainKind::kEndpoint:
      break;
  }
  return endpoints[id_->hash].rules;
}

void KernelRules::on_rule(std::string_view chain, std::string_view rule) {
  if (!table_) return;
  enter(chain);
  if (decode_ == nullptr) return;
  if (id_) ++count_rules();
  if ((this->*decode_)(reader_.read(rule))) return;
  if (unknown.size() == kMostUnknown) {
    ++more_unknown;
    return;
  }
  unknown.push_back(std::string(netfilter::table_name(*table_)).append(" -A ").append(chain).append(" ").append(rule));
}

// Always true: foreign rules in built-in chains are not reported.
bool KernelRules::read_built_in(const Fields& rule) {
  if ((rule.conditions() & ~std::uint32_t{Fields::kNew}) == 0)
    jumps_.push_back(jump_text(*table_, chain_, rule.target));
  return true;
}

bool KernelRules::read_mark(const Fields& rule) {
  marks = marks || (rule.target == "MARK" && rule.conditions() == 0);
  return true;
}

bool KernelRules::read_postrouting(const Fields& rule) {
  masquerades = masquerades || rule.target == "MASQUERADE";
  return true;
}

void KernelRules::add_dispatch(const Place& place, DispatchRule rule) {
  rule.packets = packets();
  std::vector<DispatchRule>& dispatch = places[place].dispatch;
  const auto same = std::find_if(dispatch.begin(), dispatch.end(), [&](const DispatchRule& one) {
    return one.to == rule.to && (!one.only_to || one.only_to == rule.only_to);
  });
  if (same != dispatch.end()) {
    same->packets += rule.packets;
    return;
  }
  // A rule without an address makes those with one superfluous.
  if (!rule.only_to) {
    for (const DispatchRule& one : dispatch) rule.packets += one.to == rule.to ? one.packets : 0;
    std::erase_if(dispatch, [&](const DispatchRule& one) { return one.to == rule.to; });
  }
  dispatch.push_back(rule);
}

bool KernelRules::read_services(const Fields& rule) {
  if (rule.target == name(SharedChain::kNatNodePorts)) {
    const std::uint32_t conditions = rule.conditions();
    const bool all_but_some =
        conditions == (Fields::kDestinationLocal | Fields::kDestination) && rule.destination->negated;
    if (rule.destination_local == Fields::Local::kYes && (conditions == Fields::kDestinationLocal || all_but_some)) {
      return node_ports_everywhere = true;
    }
    if (conditions != Fields::kDestination || !Fields::is_one_address(rule.destination)) return false;
    node_port_addresses.push_back(rule.destination->prefix.address);
    return true;
  }
  const auto place = place_of_address(rule);
  const auto to = parse_chain(rule.target);
  if (!place || !to || to->kind == ChainKind::kEndpoint) return false;
  add_dispatch(*place, {*to, std::nullopt});
  return true;
}

bool KernelRules::read_node_ports(const Fields& rule) {
  const auto to = parse_chain(rule.target);
  if (!to || to->kind == ChainKind::kEndpoint || !rule.protocol) return false;
  const std::uint32_t conditions = rule.conditions();
  const bool limited = conditions == (Fields::kPort | Fields::kDestination) && !rule.destination->negated;
  if (conditions != Fields::kPort && !limited) return false;
  add_dispatch({true, {}, *rule.port, *rule.protocol},
               {*to, limited ? std::optional(rule.destination->prefix) : std::nullopt});
  return true;
}

bool KernelRules::read_refusal(const Fields& rule) {
  if (rule.target != "REJECT" && rule.target != "DROP") return false;
  std::optional<Place> place = place_of_address(rule);
  if (!place && rule.conditions() == (Fields::kPort | Fields::kDestinationLocal) &&
      rule.destination_local == Fields::Local::kYes && rule.protocol) {
    place = Place{true, {}, *rule.port, *rule.protocol};
  }
  if (!place) return false;
  places[*place].refusals.push_back({std::string(name_in_comment(rule.comment)), rule.target == "DROP", *shared_,
                                     packets()});
  return true;
}

bool KernelRules::read_firewall_drop(const Fields& rule) {
  const auto place = place_of_address(rule);
  if (!place || rule.target != "DROP") return false;
  FrontendRules& there = places[*place];
  there.firewall = std::string(name_in_comment(rule.comment));
  there.firewall_packets += packets();
  return true;
}

bool KernelRules::read_health_check(const Fields& rule) {
  if (rule.target != "ACCEPT" || rule.conditions() != Fields::kPort) return false;
  health_checks.emplace_back(name_in_comment(rule.comment), *rule.port);
  return true;
}

bool KernelRules::read_balancing(const Fields& rule) {
  BalancingChain& chain = id_->kind == ChainKind::kLocal ? locals[id_->hash] : clusters[id_->hash];
  const std::uint32_t conditions = rule.conditions();
  if (rule.target == kMarkMasquerade) {
    const std::uint32_t rest = conditions & ~std::uint32_t{Fields::kDestination | Fields::kPort};
    const bool all_but_some =
        (rest == Fields::kSource && rule.source->negated) || (rest == Fields::kInterface && rule.not_interface);
    if (rest != 0 && !all_but_some) return false;
    return chain.masquerades = true;
  }
  const auto to = parse_chain(rule.target);
  if (!to || to->kind != ChainKind::kEndpoint) return false;
  if (conditions == Fields::kRemembered) {
    if (rule.list != rule.target || rule.seconds == 0) return false;
    chain.choices.push_back({to->hash, rule.seconds, 1});
    return true;
  }
  if (conditions != 0 && conditions != Fields::kProbability) return false;
  chain.choices.push_back({to->hash, 0, rule.probability.value_or(1)});
  return true;
}

bool KernelRules::read_endpoint(const Fields& rule) {
  EndpointChain& chain = endpoints[id_->hash];
  if (rule.target == kMarkMasquerade && rule.conditions() == Fields::kSource && Fields::is_one_address(rule.source)) {
    return chain.masquerades_itself = true;
  }
  if (rule.target != "DNAT" || rule.conditions() != 0) return false;
  const auto to = netfilter::parse_host_port(rule.translate_to, family_);
  if (!to) return false;
  if (chain.to) return true;  // never reached
  chain.to = to;
  chain.packets = packets();
  chain.remembers = rule.recent == Fields::Recent::kRemembers && rule.list == chain_;
  return true;
}

bool KernelRules::read_external(const Fields& rule) {
  ExternalChain& chain = externals[id_->hash];
  const std::uint32_t conditions = rule.conditions();
  const bool node = is_from_this_node(rule);
  if (rule.target == kMarkMasquerade) {
    if (conditions != 0 && !node) return false;
    (node ? chain.masquerades_node : chain.masquerades) = true;
    return true;
  }
  const auto to = parse_chain(rule.target);
  if (!to || (to->kind != ChainKind::kCluster && to->kind != ChainKind::kLocal)) return false;
  const bool pods = (conditions == Fields::kSource && !rule.source->negated) ||
                    (conditions == Fields::kInterface && !rule.not_interface);
  if (conditions != 0 && !node && !pods) return false;
  std::optional<ChainId>& slot = conditions == 0 ? chain.rest : node ? chain.node : chain.pods;
  if (!slot) slot = to;
  return true;
}

bool KernelRules::read_firewall(const Fields& rule) {
  FirewallChain& chain = firewalls[id_->hash];
  if (rule.target.empty()) return rule.conditions() == 0;  // a comment
  const auto to = parse_chain(rule.target);
  if (!to || to->kind != ChainKind::kExternal || (chain.to && *chain.to != *to)) return false;
  // Every source is one that iptables does not print.
  if (rule.conditions() == 0) {
    chain.sources.emplace_back();
  } else if (rule.conditions() == Fields::kSource && !rule.source->negated) {
    chain.sources.push_back(rule.source->prefix);
  } else {
    return false;
  }
  chain.to = to;
  return true;
}

}  // namespace sluice::iptables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/packet_rules.hpp"

#include <algorithm>
#include <functional>

#include "plugins/common/netfilter/rule_text.hpp"

namespace sluice::iptables {
namespace {

using netfilter::HostPort;
using netfilter::RuleFields;

Matches certainly(bool is) { return is ? Matches::kYes : Matches::kNo; }

// All destinations decide the same way, or it is not known.
template <class Predicate>
Matches of_destinations(const TracedPacket& packet, Predicate is) {
  const auto count = std::count_if(packet.destinations.begin(), packet.destinations.end(), is);
  if (count == 0) return Matches::kNo;
  return static_cast<std::size_t>(count) == packet.destinations.size() ? Matches::kYes : Matches::kMaybe;
}

Matches inverted_if(bool negated, Matches one) {
  if (!negated || one == Matches::kMaybe) return one;
  return certainly(one == Matches::kNo);
}

// Of a process, packets have no interface of arrival. Only the interfaces of pods are known.
Matches match_interface(const RuleFields& rule, const TracedPacket& packet, const MatchFacts& facts) {
  if (packet.packet.of_node) return Matches::kNo;
  if (facts.local.is_local != "-i " + std::string(rule.interface)) return Matches::kMaybe;
  return certainly(packet.packet.of_pod);
}

bool has_state(std::string_view list, bool translated) {
  while (!list.empty()) {
    const std::string_view state = list.substr(0, list.find(','));
    if (state == "NEW" || (state == "DNAT" && translated)) return true;
    list.remove_prefix(std::min(state.size() + 1, list.size()));
  }
  return false;
}

Matches match_local(RuleFields::Local wanted, Matches is) { return inverted_if(wanted == RuleFields::Local::kNo, is); }

}  // namespace

bool MatchFacts::is_local(const abi::Address& address, abi::Family family) const {
  return addresses.contains(address) || netfilter::is_loopback(family, address);
}

Matches match(const RuleFields& rule, const TracedPacket& traced, const MatchFacts& facts) {
  const inspection::Packet& packet = traced.packet;
  Matches all = Matches::kYes;
  const auto need = [&all](Matches one) { all = std::min(all, one); };
  if (rule.protocol) need(certainly(*rule.protocol == packet.protocol));
  if (rule.source) {
    need(certainly(netfilter::contains(rule.source->prefix, packet.client) != rule.source->negated));
  }
  if (rule.destination) {
    need(inverted_if(rule.destination->negated, of_destinations(traced, [&](const HostPort& to) {
                       return netfilter::contains(rule.destination->prefix, to.address);
                     })));
  }
  if (rule.port) need(of_destinations(traced, [&](const HostPort& to) { return to.port == *rule.port; }));
  if (!rule.interface.empty()) need(inverted_if(rule.not_interface, match_interface(rule, traced, facts)));
  if (rule.source_local != RuleFields::Local::kAny) {
    need(match_local(rule.source_local, certainly(packet.of_node || facts.is_local(packet.client, packet.family))));
  }
  if (rule.destination_local != RuleFields::Local::kAny) {
    need(match_local(rule.destination_local, of_destinations(traced, [&](const HostPort& to) {
                       return facts.is_local(to.address, packet.family);
                     })));
  }
  if (rule.not_translated) need(certainly(!traced.translated));
  if (!rule.states.empty()) need(certainly(has_state(rule.states, traced.translated) != rule.not_states));
  if (rule.marked != 0) need(rule.marked == facts.mark ? certainly(traced.marked) : Matches::kMaybe);
  if (rule.unmarked != 0) need(rule.unmarked == facts.mark ? certainly(!traced.marked) : Matches::kMaybe);
  constexpr std::uint32_t kUnknown = RuleFields::kNotFromBridgePort | RuleFields::kRemembered |
                                     RuleFields::kProbability | RuleFields::kSet | RuleFields::kVirtual |
                                     RuleFields::kOther;
  if ((rule.conditions() & kUnknown) != 0) need(Matches::kMaybe);
  return all;
}

const PacketRules::Chain* PacketRules::find(Table table, std::string_view name) const {
  const auto& chains = tables_[static_cast<std::size_t>(table)];
  const auto found = chains.find(name);
  return found == chains.end() ? nullptr : &found->second;
}

void PacketRules::on_table(std::string_view name) {
  table_.reset();
  chain_ = nullptr;
  for (const Table table : {Table::kFilter, Table::kNat}) {
    if (netfilter::table_name(table) == name) table_ = table;
  }
}

PacketRules::Chain& PacketRules::enter(std::string_view name) {
  if (chain_ != nullptr && chain_name_ == name) return *chain_;
  chain_name_ = name;
  chain_ = &tables_[static_cast<std::size_t>(*table_)][chain_name_];
  const bool late = name == kPostrouting || name == kMarkMasquerade;
  early_ = table_ == Table::kNat && is_ours("nat", name) && !late;
  return *chain_;
}

void PacketRules::on_chain(std::string_view name, bool) {
  if (!table_) return;
  Chain& chain = enter(name);
  chain.drops = policy() == "DROP";
  chain.counts = counts();
}

void PacketRules::on_rule(std::string_view name, std::string_view rule) {
  if (!table_) return;
  Chain& chain = enter(name);
  ++chain.count;
  if (early_ && match(reader_.read(rule), packet_, facts_) == Matches::kNo) return;
  chain.rules.push_back({std::string(rule), counts()});
}

}  // namespace sluice::iptables

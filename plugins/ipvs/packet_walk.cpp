// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/packet_walk.hpp"

#include <algorithm>
#include <array>

#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/ipvs/rules/rule_drift.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::RuleFields;
using netfilter::Table;
using Fate = PacketWalk::Fate;

struct FateOfTarget {
  std::string_view target;
  Fate fate;
};
constexpr std::array kFates{FateOfTarget{"ACCEPT", Fate::kAccepted}, FateOfTarget{"DROP", Fate::kDropped},
                            FateOfTarget{"REJECT", Fate::kRejected}, FateOfTarget{"MASQUERADE", Fate::kMasqueraded},
                            FateOfTarget{"RETURN", Fate::kPasses}};

const FateOfTarget* fate_of(std::string_view target) {
  const auto found =
      std::find_if(kFates.begin(), kFates.end(), [&](const FateOfTarget& one) { return one.target == target; });
  return found == kFates.end() ? nullptr : &*found;
}

// Conditions that no rule of this backend has, and states of conntrack in which the first packet through IPVS never is.
constexpr std::uint32_t kNeverMatching =
    RuleFields::kOther | RuleFields::kRemembered | RuleFields::kProbability | RuleFields::kStates;

bool is_right(RuleFields::Local wanted, bool local) {
  return wanted == RuleFields::Local::kAny || (wanted == RuleFields::Local::kYes) == local;
}

bool is_right(const std::optional<RuleFields::Match>& wanted, const abi::Address& address) {
  return !wanted || netfilter::contains(wanted->prefix, address) != wanted->negated;
}

std::optional<SetId> set_with_name(std::string_view name, abi::Family family) {
  for (const SetId id : all_sets()) {
    if (set_name(id, family) == name) return id;
  }
  return std::nullopt;
}

}  // namespace

bool PacketWalk::is_local(const abi::Address& address) const {
  return local_.contains(address) || kernel_.addresses.contains(address) || netfilter::is_loopback(family_, address);
}

Fate PacketWalk::walk(Table table, std::string_view chain, TracedPacket& packet, std::vector<RuleHit>& hits) {
  visits_.insert_or_assign({table, std::string(chain)}, Visit{packet, false});
  const netfilter::Chain* const found = kernel_.rules.chain(table, chain);
  if (found == nullptr) return Fate::kPasses;
  for (const netfilter::Rule& rule : found->rules) {
    const RuleFields& fields = reader_.read(rule.text);
    const std::string target(fields.target);
    if (!is_owned(table, target) || !matches(fields, packet)) continue;
    const Fate fate = walk_ours(table, target, packet, hits);
    if (fate != Fate::kPasses) return fate;
  }
  return Fate::kPasses;
}

Fate PacketWalk::walk_ours(Table table, const std::string& chain, TracedPacket& packet, std::vector<RuleHit>& hits) {
  visits_.insert_or_assign({table, chain}, Visit{packet, false});
  const netfilter::Chain* const found = kernel_.rules.chain(table, chain);
  if (found == nullptr) return Fate::kPasses;
  for (const netfilter::Rule& rule : found->rules) {
    const RuleFields& fields = reader_.read(rule.text);
    if (!matches(fields, packet)) continue;
    const RuleHit hit{table, chain, rule.text, std::string(fields.target)};
    if (const FateOfTarget* const end = fate_of(hit.target)) {
      hits.push_back(hit);
      visits_.at({table, chain}).ended = true;
      return end->fate;
    }
    const Fate fate = follow(hit, packet, hits);
    if (fate != Fate::kPasses) return fate;
  }
  return Fate::kPasses;
}

// A rule that does not end the chain.
Fate PacketWalk::follow(const RuleHit& rule, TracedPacket& packet, std::vector<RuleHit>& hits) {
  if (rule.target == "MARK") {
    packet.marked = rule.chain == names::kMarkMasquerade;
    return Fate::kPasses;
  }
  if (!is_owned(rule.table, rule.target)) return Fate::kPasses;
  const auto at = static_cast<std::ptrdiff_t>(hits.size());
  const bool marked = std::exchange(packet.marked, false);
  const Fate fate = walk_ours(rule.table, rule.target, packet, hits);
  const bool to_mark = rule.target == names::kMarkMasquerade;
  // A jump that leads to nothing decides nothing.
  if (to_mark || static_cast<std::ptrdiff_t>(hits.size()) > at) {
    RuleHit jump = rule;
    jump.marks = to_mark && packet.marked;
    hits.insert(hits.begin() + at, std::move(jump));
  }
  packet.marked = packet.marked || marked;
  return fate;
}

bool PacketWalk::matches(const RuleFields& rule, const TracedPacket& packet) const {
  if ((rule.conditions() & kNeverMatching) != 0) return false;
  if (rule.protocol && *rule.protocol != packet.protocol) return false;
  if (rule.port && *rule.port != packet.port) return false;
  if (!is_right(rule.source, packet.source) || !is_right(rule.destination, packet.destination)) return false;
  // The only interfaces that rules name are those of pods.
  if (!rule.interface.empty() && packet.of_pod == rule.not_interface) return false;
  if (!is_right(rule.source_local, is_local(packet.source))) return false;
  if (!is_right(rule.destination_local, is_local(packet.destination))) return false;
  if (rule.not_from_bridge_port && packet.of_pod) return false;
  if ((rule.unmarked != 0 && packet.marked) || (rule.marked != 0 && !packet.marked)) return false;
  if (rule.virtual_address || rule.virtual_port || rule.virtual_protocol) {
    if (!packet.server || rule.virtual_address != packet.server->address || rule.virtual_port != packet.server->port ||
        rule.virtual_protocol != packet.server->protocol) {
      return false;
    }
  }
  return rule.set.empty() || in_set(rule, packet);
}

bool PacketWalk::in_set(const RuleFields& rule, const TracedPacket& packet) const {
  const auto id = set_with_name(rule.set, family_);
  if (!id) return false;
  const SetContents& set = kernel_.sets[static_cast<std::size_t>(*id)];
  SetEntry entry;
  const SetType type = spec(*id).type;
  entry.port = type == SetType::kIp ? std::uint16_t{0} : packet.port;
  if (type == SetType::kPorts) return set.contains(entry);
  entry.address = rule.set_directions.starts_with("src") ? packet.source : packet.destination;
  if (type == SetType::kIp) return set.contains(entry);
  entry.protocol = packet.protocol;
  if (type == SetType::kIpPort) return set.contains(entry);
  entry.other = packet.source;
  entry.other_length = static_cast<std::uint8_t>(sdk::address_bytes(family_) * 8);
  if (type == SetType::kIpPortIp) return set.contains(entry);
  return std::any_of(set.begin(), set.end(), [&](const SetEntry& range) {
    abi::Prefix prefix{};
    prefix.address = range.other;
    prefix.length = range.other_length;
    return range.address == entry.address && range.port == entry.port && range.protocol == entry.protocol &&
           netfilter::contains(prefix, packet.source);
  });
}

bool PacketWalk::matters(const RuleComparison::Missing& jump, TracedPacket packet) {
  const std::string target(reader_.read(jump.rule).target);
  const bool marked = packet.marked;
  std::vector<RuleHit> unused;
  const auto visits = visits_;
  const Fate fate = walk_ours(jump.table, target, packet, unused);
  visits_ = visits;
  return fate != Fate::kPasses || packet.marked != marked;
}

std::vector<std::string> PacketWalk::missing_rules(const RuleComparison& comparison) {
  std::vector<std::string> found;
  for (const RuleComparison::Missing& jump : comparison.missing_jumps()) {
    const auto visit = visits_.find({jump.table, jump.chain});
    if (visit == visits_.end() || !matters(jump, visit->second.packet)) continue;
    found.push_back(jump.chain + " does not lead to " + std::string(reader_.read(jump.rule).target));
  }
  for (const RuleComparison::Missing& rule : comparison.missing()) {
    const auto visit = visits_.find({rule.table, rule.chain});
    if (visit == visits_.end()) continue;
    const RuleFields& fields = reader_.read(rule.rule);
    const bool unreached = visit->second.ended && fields.conditions() == 0 && !fields.protocol;
    if (unreached || !matches(fields, visit->second.packet)) continue;
    found.push_back("no rule " + printed_rule(rule.table, rule.chain, rule.rule));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace sluice::ipvs

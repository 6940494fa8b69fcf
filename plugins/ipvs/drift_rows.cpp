// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/drift_rows.hpp"

#include <utility>

#include "plugins/common/netfilter/rule_reader.hpp"

namespace sluice::ipvs {
namespace {

using abi::DriftKind;

constexpr DriftKind kind_of(ServerDrift::Kind kind) {
  constexpr DriftKind kKinds[] = {DriftKind::kDriftMissing, DriftKind::kDriftChanged, DriftKind::kDriftExtra};
  return kKinds[static_cast<std::size_t>(kind)];
}

// The virtual server of a rule of KUBE-IPVS-OUT-FILTER.
std::optional<ServerKey> closed_by(const RuleDrift& drift, abi::Family family) {
  if (drift.chain != kOutFilterChain) return std::nullopt;
  netfilter::RuleReader reader(family);
  const netfilter::RuleFields& rule = reader.read(drift.rule);
  if (!rule.virtual_address || !rule.virtual_port || !rule.virtual_protocol) return std::nullopt;
  return ServerKey{*rule.virtual_address, *rule.virtual_port, *rule.virtual_protocol};
}

}  // namespace

bool DriftReport::wants(const ServerKey& key) const {
  const PortId* const owner = wanted_.owner(key);
  return rows_.wants(owner == nullptr ? std::string_view() : std::string_view(owner->first));
}

void DriftReport::add(Row row, const PortId* owner) {
  if (owner != nullptr) {
    row.service_port = owner->first;
    row.protocol = owner->second;
  }
  rows_.add(std::move(row));
}

void DriftReport::add(const ServerDrift& drift) {
  std::string object = "virtual server " + to_string(drift.key, family_);
  if (drift.real) object = "real server " + to_string(*drift.real, family_) + " of " + object;
  add({.kind = kind_of(drift.kind), .object = std::move(object), .wanted = drift.wanted, .found = drift.found},
      wanted_.owner(drift.key));
}

void DriftReport::add(const SetDrift& drift) {
  const std::string name = set_name(drift.set, family_);
  const SetSpec& of = spec(drift.set);
  const auto entry = [&](DriftKind kind) {
    add({.kind = kind, .object = "entry " + to_string(drift.entry, of.type, family_) + " of " + name},
        owner_of({drift.set, drift.entry}));
  };
  switch (drift.kind) {
    case SetDrift::Kind::kGone:
      return add({.kind = DriftKind::kDriftMissing, .object = "set " + name}, nullptr);
    case SetDrift::Kind::kOtherType:
      return add({.kind = DriftKind::kDriftChanged,
                  .object = "set " + name,
                  .wanted = std::string(type_name(of.type)),
                  .found = drift.found},
                 nullptr);
    case SetDrift::Kind::kUnread:
      return add({.kind = DriftKind::kDriftExtra,
                  .object = "entries of " + name + " with unknown options",
                  .count = static_cast<std::uint32_t>(drift.number)},
                 nullptr);
    case SetDrift::Kind::kMissing:
      return entry(DriftKind::kDriftMissing);
    case SetDrift::Kind::kAdded:
      return entry(DriftKind::kDriftExtra);
  }
}

void DriftReport::add(const AddressDrift& drift, bool ours) {
  const std::string link = std::string("link ") + kLinkName;
  SetEntry entry;
  entry.address = drift.address;
  const std::string address = "address " + sdk::to_string(drift.address, family_) + " of " + kLinkName;
  switch (drift.kind) {
    case AddressDrift::Kind::kLinkGone:
      return add({.kind = DriftKind::kDriftMissing, .object = link}, nullptr);
    case AddressDrift::Kind::kLinkReplaced:
      return add({.kind = DriftKind::kDriftChanged, .object = link, .found = drift.found}, nullptr);
    case AddressDrift::Kind::kMissing:
      // Each address has an entry in this set.
      return add({.kind = DriftKind::kDriftMissing, .object = address}, owner_of({SetId::kIpvsAddresses, entry}));
    case AddressDrift::Kind::kAdded:
      return add({.kind = ours ? DriftKind::kDriftExtra : DriftKind::kDriftForeign, .object = address}, nullptr);
  }
}

void DriftReport::add(const RuleDrift& drift) {
  const std::string chain = "chain " + netfilter::in_table(drift.table, drift.chain);
  const auto closed = closed_by(drift, family_);
  const PortId* const owner = closed ? wanted_.owner(*closed) : nullptr;
  const auto rule = [&](DriftKind kind) {
    add({.kind = kind, .object = "rule " + printed_rule(drift.table, drift.chain, drift.rule)}, owner);
  };
  switch (drift.kind) {
    case RuleDrift::Kind::kChainGone:
      return add({.kind = DriftKind::kDriftMissing, .object = chain}, nullptr);
    case RuleDrift::Kind::kOrder:
      return add({.kind = DriftKind::kDriftChanged, .object = chain, .found = "its rules are in another order"}, nullptr);
    case RuleDrift::Kind::kMissing:
      return rule(DriftKind::kDriftMissing);
    case RuleDrift::Kind::kAdded:
      return rule(DriftKind::kDriftExtra);
    case RuleDrift::Kind::kBefore:
      return rule(DriftKind::kDriftForeign);
  }
}

const PortId* DriftReport::owner_of(const SetItem& item) {
  if (!owners_) {
    owners_.emplace();
    ids_ = wanted_.ids();
    for (const PortId& id : ids_) {
      for (const SetItem& each : wanted_.find(id)->items) {
        const auto [place, fresh] = owners_->try_emplace(each, &id);
        if (!fresh) place->second = nullptr;
      }
    }
  }
  const auto found = owners_->find(item);
  return found == owners_->end() ? nullptr : found->second;
}

}  // namespace sluice::ipvs

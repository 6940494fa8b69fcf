// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/drift_rows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/text.hpp"
#include "plugins/nftables/kernel/encoder.hpp"
#include "plugins/nftables/kernel/table_reader.hpp"
#include "plugins/nftables/wanted_listing.hpp"

namespace sluice::nftables {
namespace {

using abi::DriftKind;
using inspection::DriftRows;

std::string hook_text(const KnownChain& chain) {
  if (!chain.is_base) return "not attached to a hook";
  constexpr const char* kHooks[] = {"prerouting", "input", "forward", "output", "postrouting"};
  const std::uint32_t hook = chain.hook.hook;
  return "type " + chain.hook.type + " hook " + (hook < std::size(kHooks) ? kHooks[hook] : std::to_string(hook)) +
         " priority " + std::to_string(chain.hook.priority);
}

std::string shape_text(const SetSpec& spec) {
  if (spec.flags == kForeignShape) return "with an element of another form";
  const auto part = [](const char* what, std::uint32_t type, std::uint32_t size) {
    return std::string(what) + " type " + std::to_string(type) + " of " + std::to_string(size) + " bytes";
  };
  std::string text = part("key", spec.key_type, spec.key_size);
  if (spec.is_map()) text += ", " + part("data", spec.data_type, spec.data_size);
  text += ", flags " + std::to_string(spec.flags);
  if (spec.capacity != 0) text += ", size " + std::to_string(spec.capacity);
  if (spec.timeout_ms != 0) text += ", timeout " + std::to_string(spec.timeout_ms / 1000) + " s";
  if (spec.counters) text += ", counter";
  return text;
}

bool holds_endpoints(SetId set) {
  constexpr SetId kSets[] = {SetId::kEndpoints, SetId::kNodePortEndpoints, SetId::kAffinityEndpoints,
                             SetId::kAffinityLocalEndpoints};
  return lib::contains(kSets, set);
}

class DriftFinder {
 public:
  DriftFinder(const TableFacts& facts, const Model& model, Listing& there, DriftRows& rows)
      : facts_(facts), model_(model), family_(facts.layout.family), there_(there), rows_(rows) {}

  void find() {
    const Listing wanted = wanted_frame(facts_, model_);
    if (there_.exists) {
      compare_sets(wanted);
      compare_chains(wanted);
      compare_dispatch(wanted);
    } else {
      rows_.add({.kind = DriftKind::kDriftMissing, .object = table_text(family_)});
    }
    compare_elements();
  }

 private:
  void compare_sets(const Listing& wanted) {
    for (const auto& [name, spec] : wanted.sets) {
      const auto found = there_.sets.find(name);
      if (found == there_.sets.end()) {
        rows_.add({.kind = DriftKind::kDriftMissing, .object = "set " + name});
      } else if (!same_settings(spec, found->second)) {
        rows_.add({.kind = DriftKind::kDriftChanged,
                   .object = "set " + name,
                   .wanted = shape_text(spec),
                   .found = shape_text(found->second)});
      }
    }
    for (const auto& [name, spec] : there_.sets) {
      if (!wanted.sets.contains(name)) rows_.add({.kind = DriftKind::kDriftExtra, .object = "set " + name});
    }
  }

  void compare_chains(const Listing& wanted) {
    for (const auto& [name, chain] : wanted.chains) {
      const auto found = there_.chains.find(name);
      if (found == there_.chains.end()) {
        rows_.add({.kind = DriftKind::kDriftMissing, .object = "chain " + name});
      } else {
        compare_chain(name, chain, found->second);
      }
    }
    for (const auto& [name, chain] : there_.chains) {
      if (wanted.chains.contains(name)) continue;
      rows_.add({.kind = DriftKind::kDriftExtra,
                 .object = "chain " + name,
                 .found = hook_text(chain) + ", " + std::to_string(chain.rules.size()) + " rules"});
    }
  }

  void compare_chain(const std::string& name, const KnownChain& wanted, const KnownChain& found) {
    if (wanted.is_base != found.is_base || !(wanted.hook == found.hook)) {
      rows_.add({.kind = DriftKind::kDriftChanged,
                 .object = "chain " + name,
                 .wanted = hook_text(wanted),
                 .found = hook_text(found)});
    }
    // The rules between those that are equal at both ends are compared one by one.
    const auto [first, other] =
        std::mismatch(wanted.rules.begin(), wanted.rules.end(), found.rules.begin(), found.rules.end());
    const auto last = std::mismatch(wanted.rules.rbegin(), std::make_reverse_iterator(first), found.rules.rbegin(),
                                    std::make_reverse_iterator(other));
    const std::vector<Rule> before(first, last.first.base()), after(other, last.second.base());
    const auto position = static_cast<std::size_t>(first - wanted.rules.begin()) + 1;
    for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      DriftRows::Row row{.kind = DriftKind::kDriftChanged,
                         .object = "rule " + std::to_string(position + i) + " of chain " + name};
      if (i < before.size()) row.wanted = rule_text(before[i]);
      if (i < after.size()) row.found = rule_text(after[i]);
      if (i >= before.size()) row.kind = DriftKind::kDriftExtra;
      if (i >= after.size()) row.kind = DriftKind::kDriftMissing;
      rows_.add(std::move(row));
    }
  }

  using Dispatch = std::map<std::pair<bool, std::uint32_t>, std::string>;
  static Dispatch by_number(const std::vector<DispatchWrite>& dispatch) {
    Dispatch sorted;
    for (const DispatchWrite& one : dispatch) {
      sorted[{one.firewall, one.number}] = one.chain.empty() ? "another verdict" : "goto " + one.chain;
    }
    return sorted;
  }
  void compare_dispatch(const Listing& wanted) {
    const Dispatch written = by_number(wanted.dispatch);
    const Dispatch found = by_number(there_.dispatch);
    const auto row = [this](DriftKind kind, const Dispatch::key_type& key, std::string before, std::string after) {
      const SetSpec map = key.first ? firewall_chains_spec(family_) : service_chains_spec(family_);
      const auto there = there_.sets.find(map.name);
      if (there == there_.sets.end() || !same_shape(map, there->second)) return;
      rows_.add({.kind = kind,
                 .object = "element " + slot_text(key.second) + " of " + map.name,
                 .wanted = std::move(before),
                 .found = std::move(after)});
    };
    for (const auto& [key, chain] : written) {
      const auto other = found.find(key);
      if (other == found.end()) {
        row(DriftKind::kDriftMissing, key, chain, {});
      } else if (other->second != chain) {
        row(DriftKind::kDriftChanged, key, chain, other->second);
      }
    }
    for (const auto& [key, chain] : found) {
      if (!written.contains(key)) row(DriftKind::kDriftExtra, key, {}, chain);
    }
  }

  void compare_elements() {
    for (std::size_t i = 0; i < kSetCount; ++i) {
      const SetSpec spec = set_spec(family_, static_cast<SetId>(i));
      const auto there = there_.sets.find(spec.name);
      const bool is_there = there != there_.sets.end() && same_shape(spec, there->second);
      if (!is_there) there_.records[i] = RecordTable();
      // The row of a missing set stands for its elements, but has no service port.
      skipped_[i] = !is_there && rows_.wants({});
    }
    for (const abi::Address& address : facts_.node_port_ips) {
      compare({SetId::kNodePortIps, address_key(family_, address), {}}, {}, nullptr);
    }
    const std::vector<PortId> ids = model_.ids();
    for (const PortId& id : ids) {
      model_.walk(id, [&](const Record& record, std::string_view comment) { compare(record, comment, &id); });
    }
    for (const auto& [record, id] : shared_) add_missing(record, id);
    for (std::size_t i = 0; i < kSetCount; ++i) add_extra(static_cast<SetId>(i));
  }

  void compare(const Record& record, std::string_view comment, const PortId* id) {
    if (skipped_[index(record.set)]) return;
    RecordTable& there = there_.records[index(record.set)];
    const auto place = there.find(record.key);
    if (!place) return lacks(record, id);
    there.mark(*place);
    const Data data = there.data(*place);
    const bool same_comment = ignores_comment(record.set) || there.comment(*place) == comment_hash(comment);
    if (data == record.data && same_comment) return;
    DriftRows::Row row = row_of(DriftKind::kDriftChanged, record, id);
    row.wanted = data_text(record.set, record.data);
    row.found = data_text(record.set, data);
    if (!same_comment) {
      row.wanted += (row.wanted.empty() ? "comment \"" : " comment \"") + std::string(comment) + '"';
      row.found += row.found.empty() ? "another comment" : " with another comment";
    }
    rows_.add(std::move(row));
  }

  // Of elements that several service ports may share, the row comes later.
  void lacks(const Record& record, const PortId* id) {
    if (!is_shared(record.set)) return add_missing(record, id);
    const auto [known, added] = shared_.emplace(record, id);
    if (!added && known->second != id) known->second = nullptr;
  }
  void add_missing(const Record& record, const PortId* id) {
    DriftRows::Row row = row_of(DriftKind::kDriftMissing, record, id);
    row.wanted = data_text(record.set, record.data);
    rows_.add(std::move(row));
  }

  void add_extra(SetId set) {
    const RecordTable& there = there_.records[index(set)];
    for (std::size_t place = 0; place < there.size(); ++place) {
      if (there.is_marked(place)) continue;
      const Record record{set, there.key(place), there.data(place)};
      const auto frontend = frontend_in(family_, record);
      const auto owner = frontend ? model_.owner(*frontend) : std::nullopt;
      const PortId id(owner.value_or(std::string_view()), frontend ? frontend->protocol : abi::Protocol());
      DriftRows::Row row = row_of(DriftKind::kDriftExtra, record, owner ? &id : nullptr);
      row.found = data_text(set, record.data);
      rows_.add(std::move(row));
    }
  }

  DriftRows::Row row_of(DriftKind kind, const Record& record, const PortId* id) const {
    DriftRows::Row row{.kind = kind, .object = describe(family_, record)};
    if (id != nullptr) {
      row.service_port = id->first;
      row.protocol = id->second;
    }
    return row;
  }

  // As nft shows it, but for addresses with ports.
  std::string data_text(SetId set, const Data& data) const {
    if (data.empty()) return {};
    return holds_endpoints(set) ? to_string(family_, read_endpoint(family_, data)) : slot_text(read_number(data));
  }

  const TableFacts& facts_;
  const Model& model_;
  const abi::Family family_;
  Listing& there_;
  DriftRows& rows_;
  bool skipped_[kSetCount] = {};
  std::map<Record, const PortId*> shared_;  // missing; null: several service ports need it
};

}  // namespace

void find_drift(Listing listing, const TableFacts& facts, const Model& model, DriftRows& rows) {
  DriftFinder(facts, model, listing, rows).find();
}

void find_drift(const OffloadInterfaces::Difference& difference, DriftRows& rows) {
  const std::string flowtable = std::string("flowtable ") + kFlowtableName;
  if (!difference.exists) return rows.add({.kind = DriftKind::kDriftMissing, .object = flowtable});
  const auto add = [&](DriftKind kind, const std::vector<std::string>& interfaces) {
    for (const std::string& one : interfaces)
      rows.add({.kind = kind, .object = "interface " + one + " of " + flowtable});
  };
  add(DriftKind::kDriftMissing, difference.missing);
  add(DriftKind::kDriftExtra, difference.extra);
}

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/fake_table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace sluice::test {
namespace {

using namespace nftables;

constexpr SetId kAllSets[] = {SetId::kClusterIps,
                              SetId::kNodePortIps,
                              SetId::kHairpin,
                              SetId::kServiceIps,
                              SetId::kServiceNodePorts,
                              SetId::kEndpoints,
                              SetId::kNodePortEndpoints,
                              SetId::kNoEndpointServices,
                              SetId::kNoEndpointNodePorts,
                              SetId::kNoLocalServices,
                              SetId::kNoLocalNodePorts,
                              SetId::kFirewallIps,
                              SetId::kAffinityServices,
                              SetId::kAffinityNodePorts,
                              SetId::kAffinitySlots,
                              SetId::kAffinityEndpoints,
                              SetId::kAffinityLocalEndpoints,
                              SetId::kServiceTraffic,
                              SetId::kNodePortTraffic};

// The targets of jumps and gotos in a rule: "… goto -> NAME ]".
std::vector<std::string> targets(const Rule& rule) {
  std::vector<std::string> found;
  constexpr std::string_view kArrow = "-> ";
  for (std::size_t at = rule.text.find(kArrow); at != std::string::npos; at = rule.text.find(kArrow, at + 1)) {
    const std::size_t begin = at + kArrow.size();
    found.push_back(rule.text.substr(begin, rule.text.find_first_of(" ]\n", begin) - begin));
  }
  return found;
}

std::string hex(const std::uint8_t* bytes, std::size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    text.push_back(kDigits[bytes[i] >> 4]);
    text.push_back(kDigits[bytes[i] & 15]);
  }
  return text;
}

class Kernel final : public TableKernel {
 public:
  explicit Kernel(FakeTable& table) : table_(table) {}
  Listing list() override { return table_.list(); }
  std::uint32_t generation() override { return table_.generation(); }
  std::optional<TableState> state() override {
    if (!table_.state.exists || table_.place.empty()) return std::nullopt;
    return TableState{table_.place, table_.generation()};
  }
  std::vector<Refusal> commit(const Batch& batch) override { return table_.commit(batch); }
  std::vector<Refusal> dry_run(const Batch& batch) override {
    FakeTable::State kept = std::exchange(table_.state, {});
    const KernelStatistics statistics = table_.statistics;
    const std::size_t count = table_.batches.size();
    auto refusals = table_.commit(batch);
    table_.state = std::move(kept);
    table_.statistics = statistics;
    table_.batches.resize(count);
    ++table_.dry_runs;
    return refusals;
  }
  std::vector<TrafficCount> traffic() override {
    std::vector<TrafficCount> all;
    for (const auto& [key, count] : table_.counts) all.push_back(count);
    return all;
  }
  std::vector<RememberedClient> clients() override {
    std::vector<RememberedClient> all;
    for (const auto& [place, client] : table_.state.clients) all.push_back(client);
    return all;
  }
  std::optional<std::vector<std::string>> flowtable_interfaces() override {
    const auto& flowtable = table_.state.flowtable;
    if (!flowtable) return std::nullopt;
    return std::vector<std::string>(flowtable->begin(), flowtable->end());
  }
  bool delete_table() override {
    if (table_.fail_next) throw *std::exchange(table_.fail_next, std::nullopt);
    const bool existed = table_.state.exists;
    table_.state = {};
    return existed;
  }
  const KernelStatistics& statistics() const noexcept override { return table_.statistics; }

 private:
  FakeTable& table_;
};

class Watch final : public TableWatch {
 public:
  explicit Watch(FakeTable& table) : table_(table) {}
  ~Watch() override { table_.changed = nullptr; }
  void start(Changed changed) override {
    if (!table_.changed) table_.changed = std::move(changed);
  }
  void rearm() override {
    table_.armed = true;
    if (table_.on_rearm) table_.on_rearm();
  }
  bool finish() override { return std::exchange(table_.armed, false); }

 private:
  FakeTable& table_;
};

}  // namespace

// Applies one batch to a copy.
class FakeTable::Work {
 public:
  Work(FakeTable& table, const Batch& batch) : table_(table), batch_(batch), to_(table.state) {}

  std::vector<Refusal> run() {
    if (batch_.delete_table) {
      check(to_.exists, 0, ENOENT, "the removal of the table");
      to_ = {};
    }
    if (batch_.create_table) {
      check(!to_.exists, 0, EEXIST, "the table");
      to_.exists = true;
    }
    if (!to_.exists) check(false, 0, ENOENT, "the table");
    for (const SetSpec& spec : batch_.create_sets) {
      check(to_.sets.emplace(spec.name, spec).second, 0, EEXIST, "set " + spec.name);
    }
    if (batch_.create_flowtable && check(true, 0, 0, "flowtable service-flows") && !to_.flowtable) to_.flowtable.emplace();
    for (const ChainWrite& chain : batch_.chains) write(chain);
    for (const DispatchWrite& one : batch_.dispatch) write(one);
    for (const bool remove : {true, false}) {
      for (const ElementWrite& one : batch_.elements) {
        if (one.remove == remove) write(one);
      }
    }
    for (const RememberedClient& one : batch_.clients) write(one);
    for (const std::string& name : batch_.remove_chains) {
      if (const auto found = to_.chains.find(name); found != to_.chains.end()) found->second.rules.clear();
    }
    for (const std::string& name : batch_.remove_chains) remove(name);
    for (const std::string& name : batch_.remove_interfaces) {
      if (check(to_.flowtable && to_.flowtable->contains(name), 0, ENOENT, "interface " + name)) to_.flowtable->erase(name);
    }
    for (const std::string& name : batch_.add_interfaces) {
      const bool there = to_.flowtable && table_.node_interfaces.contains(name);
      if (check(there, 0, ENOENT, "interface " + name)) to_.flowtable->insert(name);
    }
    return std::move(refusals_);
  }
  State& result() { return to_; }

 private:
  bool check(bool good, Owner owner, int error, const std::string& what) {
    if (table_.refuse_other && owner == 0) {
      if (const int error_of_other = table_.refuse_other(what)) {
        good = false;
        error = error_of_other;
      }
    }
    if (!good) refusals_.push_back({owner, error, what});
    return good;
  }

  void write(const ChainWrite& chain) {
    const std::string& name = chain.spec.name;
    const auto known = to_.chains.find(name);
    const bool there = known != to_.chains.end();
    if (!check(there != chain.create, 0, there ? EEXIST : ENOENT, "chain " + name)) return;
    Chain& made = to_.chains[name];
    if (chain.create) {
      made.is_base = chain.spec.is_base;
      made.hook = chain.spec.hook;
    }
    made.rules.clear();
    for (const Rule& rule : chain.spec.rules) {
      const std::string what = "rule " + std::to_string(made.rules.size() + 1) + " of chain " + name;
      made.rules.push_back(rule);
      const std::vector<std::string> all = targets(rule);
      const auto is_there = [&](const std::string& target) { return to_.chains.contains(target); };
      check(std::all_of(all.begin(), all.end(), is_there), 0, ENOENT, what);
      if (rule.text.find("flow_offload") != std::string::npos) check(to_.flowtable.has_value(), 0, ENOENT, what);
    }
  }

  void write(const DispatchWrite& one) {
    const std::string what = "element " + std::to_string(one.number) + " (" + one.chain + ")";
    const auto known = to_.dispatch.find({one.firewall, one.number});
    if (one.remove) {
      if (check(known != to_.dispatch.end(), 0, ENOENT, what)) to_.dispatch.erase(known);
    } else if (check(to_.chains.contains(one.chain), 0, ENOENT, what) &&
               check(known == to_.dispatch.end() || known->second == one.chain, 0, EEXIST, what)) {
      to_.dispatch[{one.firewall, one.number}] = one.chain;
    }
  }

  // The set that elements are written to; one lookup per batch.
  struct Target {
    std::string what;
    bool exists = false;
    std::map<Key, Element>* elements = nullptr;
  };
  Target& target_of(SetId set) {
    Target& target = targets_[index(set)];
    if (target.elements == nullptr) {
      const std::string name = set_spec(table_.family_, set).name;
      target = {"element of " + name, to_.sets.contains(name), &to_.elements[set]};
    }
    return target;
  }

  void write(const ElementWrite& one) {
    Target& target = target_of(one.record.set);
    const std::string& what = target.what;
    if (!check(target.exists, one.owner, ENOENT, what)) return;
    if (const int error = table_.refuse ? table_.refuse(one) : 0; !check(error == 0, one.owner, error, what)) return;
    auto& held = *target.elements;
    const auto known = held.find(one.record.key);
    if (one.remove) {
      if (check(known != held.end(), one.owner, ENOENT, what)) held.erase(known);
    } else if (check(known == held.end() || known->second.data == one.record.data, one.owner, EEXIST, what)) {
      held.emplace(one.record.key, Element{one.record.data, one.comment});
    }
  }

  void write(const RememberedClient& one) {
    if (const int error = table_.refuse_client ? table_.refuse_client(one) : 0; !check(error == 0, 0, error, "clients")) return;
    if (!check(to_.sets.contains("affinity"), 0, ENOENT, "clients") ||
        !check(one.remaining != 0 && one.remaining <= one.seconds, 0, ERANGE, "clients")) {
      return;
    }
    const auto [known, added] = to_.clients.emplace(std::pair(one.id, one.client), one);
    check(added || known->second.token == one.token, 0, EEXIST, "clients");
  }

  void remove(const std::string& name) {
    const std::string what = "the removal of chain " + name;
    if (!check(to_.chains.contains(name), 0, ENOENT, what)) return;
    bool used = false;
    for (const auto& [number, chain] : to_.dispatch) used = used || chain == name;
    for (const auto& [other, chain] : to_.chains) {
      for (const Rule& rule : chain.rules) {
        for (const std::string& target : targets(rule)) used = used || target == name;
      }
    }
    if (check(!used, 0, EBUSY, what)) to_.chains.erase(name);
  }

  FakeTable& table_;
  const Batch& batch_;
  State to_;
  std::array<Target, kSetCount> targets_;
  std::vector<Refusal> refusals_;
};

Table FakeTable::open() {
  armed = false;
  return {std::make_unique<Kernel>(*this), std::make_unique<Watch>(*this),
          [this] { return std::vector<std::string>(node_interfaces.begin(), node_interfaces.end()); }, chunk, affinity_ids,
          [this] { return node_addresses; }};
}

std::vector<Refusal> FakeTable::commit(const Batch& batch) {
  if (before) before(batch);
  const std::optional<sdk::Failure> failure = std::exchange(fail_next, std::nullopt);
  if (failure && !lose_next) throw *failure;
  if (batch.empty()) return {};
  Work work(*this, batch);
  std::vector<Refusal> refusals = work.run();
  if (!refusals.empty()) {
    ++statistics.refused;
    return refusals;
  }
  state = std::move(work.result());
  ++statistics.commits;
  statistics.writes += batch.elements.size() + batch.clients.size() + batch.dispatch.size() + batch.create_sets.size() +
                       batch.remove_chains.size() + batch.remove_interfaces.size() + batch.add_interfaces.size() +
                       (batch.create_flowtable ? 1 : 0) + (batch.create_table ? 1 : 0) + (batch.delete_table ? 1 : 0);
  for (const ChainWrite& chain : batch.chains) statistics.writes += 1 + chain.spec.rules.size();
  batches.push_back(batch);
  if (failure) {
    lose_next = false;
    throw *failure;
  }
  return {};
}

Listing FakeTable::list() {
  if (before_list) before_list();
  ++statistics.listings;
  Listing listing;
  listing.generation = generation();
  listing.exists = state.exists;
  for (const auto& [name, spec] : state.sets) listing.sets.emplace(name, spec);
  for (const auto& [name, chain] : state.chains)
    listing.chains.emplace(name, KnownChain{chain.is_base, chain.hook, chain.rules});
  for (const auto& [number, chain] : state.dispatch)
    listing.dispatch.push_back({number.first, number.second, chain, false});
  for (const SetId set : kAllSets) {
    const SetSpec spec = set_spec(family_, set);
    RecordTable& records = listing.records[index(set)];
    records = RecordTable(spec.key_size, spec.data_size);
    for (const auto& [key, element] : state.elements[set]) {
      records.add(key.data(), element.data.data(), comment_hash(element.comment));
    }
    records.sort();
  }
  return listing;
}

void FakeTable::report_change(const std::string& sentence) {
  if (std::exchange(armed, false) && changed) changed(sentence);
}

std::string FakeTable::text() const {
  std::string text;
  for (const auto& [name, spec] : state.sets) text += "set " + name + " " + std::to_string(spec.capacity) + "\n";
  for (const auto& [name, chain] : state.chains) {
    text += "chain " + name + "\n";
    for (const Rule& rule : chain.rules) text += rule.text + "\n";
  }
  for (const auto& [number, chain] : state.dispatch) {
    text += (number.first ? "firewall " : "class ") + std::to_string(number.second) + " " + chain + "\n";
  }
  for (const auto& [set, held] : state.elements) {
    const std::string name = set_spec(family_, set).name;
    for (const auto& [key, element] : held) {
      text += name + " " + hex(key.data(), key.size()) + " " + hex(element.data.data(), element.data.size()) + " " +
              element.comment + "\n";
    }
  }
  return text;
}

std::vector<std::string> FakeTable::frontends(SetId set) const {
  std::vector<std::string> found;
  const auto held = state.elements.find(set);
  if (held == state.elements.end()) return found;
  const bool node_port = set == SetId::kServiceNodePorts || set == SetId::kNodePortEndpoints;
  for (const auto& [key, element] : held->second) {
    found.push_back(to_string(family_, read_frontend(family_, key, node_port)));
  }
  return found;
}

}  // namespace sluice::test

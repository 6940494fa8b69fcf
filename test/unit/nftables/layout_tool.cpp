// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// nftables_layout [create|change|compare] < DESCRIPTION
//
// Writes the nftables layout for a description, so that tests can check nft listings and packets. One item per line.
// create: replaces the table. change: elements only. compare: prints one line for each difference between the listing
// and the description, and fails if there is any.
//
//   family 4|6, mark NUMBER, masquerade-all, node-ports-all, counters, capacity COUNT, service-cidr CIDR,
//   detector cidr CIDR | bridge NAME | prefix NAME
//   class NUMBER cluster|local|external|external-local CLUSTER LOCAL SECONDS [nodeport]
//   firewall NUMBER CIDR...
//   add SET KEY... [: DATA...] [# COMMENT]
//   remove SET KEY...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/layout/layout.hpp"
#include "plugins/nftables/layout/set_spec.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {
namespace {

using Words = std::vector<std::string>;

// Components of keys and data: address, protocol, port (t), number.
struct Shape {
  SetId id;
  const char* key;
  const char* data;
};
constexpr Shape kShapes[] = {
    {SetId::kClusterIps, "a", ""},
    {SetId::kNodePortIps, "a", ""},
    {SetId::kHairpin, "aapt", ""},
    {SetId::kServiceIps, "apt", "n"},
    {SetId::kServiceNodePorts, "pt", "n"},
    {SetId::kEndpoints, "aptn", "at"},
    {SetId::kNodePortEndpoints, "ptn", "at"},
    {SetId::kNoEndpointServices, "apt", ""},
    {SetId::kNoEndpointNodePorts, "pt", ""},
    {SetId::kNoLocalServices, "apt", ""},
    {SetId::kNoLocalNodePorts, "pt", ""},
    {SetId::kFirewallIps, "apt", "n"},
    {SetId::kAffinityServices, "apt", "n"},
    {SetId::kAffinityNodePorts, "pt", "n"},
    {SetId::kAffinitySlots, "nn", "n"},
    {SetId::kAffinityEndpoints, "pn", "at"},
    {SetId::kAffinityLocalEndpoints, "pn", "at"},
    {SetId::kServiceTraffic, "apt", ""},
    {SetId::kNodePortTraffic, "pt", ""},
};

std::uint32_t number(const std::string& word) { return static_cast<std::uint32_t>(std::stoul(word, nullptr, 0)); }

class Description {
 public:
  void read(std::istream& from);
  Batch all() const;
  Batch elements_only() const;
  // One sentence per difference.
  std::vector<std::string> differences(const Listing& listing) const;
  abi::Family family() const { return facts_.family; }

 private:
  void take(const Words& words);
  void take_detector(const Words& words);
  void take_class(const Words& words);
  void take_element(const Words& words, bool remove);
  abi::Prefix prefix(const std::string& text) const;
  template <class To>
  void append(To& to, char kind, const std::string& word) const;
  void add_chain(std::vector<ChainWrite>& to, std::set<std::string>& added, const ChainSpec& spec) const;
  void add_class(std::vector<ChainWrite>& to, std::set<std::string>& added, const ServiceClass& service_class) const;

  LayoutFacts facts_;
  std::uint32_t capacity_ = 1000;
  std::vector<std::pair<std::uint32_t, ServiceClass>> classes_;
  std::vector<std::pair<std::uint32_t, std::vector<abi::Prefix>>> firewalls_;
  std::vector<ElementWrite> elements_;
};

void Description::read(std::istream& from) {
  std::string line;
  while (std::getline(from, line)) {
    std::istringstream in(line);
    Words words;
    std::string word;
    while (in >> word) words.push_back(word);
    if (!words.empty()) take(words);
  }
}

abi::Prefix Description::prefix(const std::string& text) const {
  const auto slash = text.find('/');
  const auto address = sdk::parse_address(text.substr(0, slash), facts_.family);
  if (!address) throw std::runtime_error("no prefix: " + text);
  abi::Prefix made{};
  made.address = *address;
  made.length = static_cast<std::uint8_t>(number(text.substr(slash + 1)));
  return made;
}

void Description::take(const Words& words) {
  const std::string& what = words[0];
  if (what == "family")
    facts_.family = words.at(1) == "6" ? abi::Family::kIpv6 : abi::Family::kIpv4;
  else if (what == "mark")
    facts_.masquerade_mark = number(words.at(1));
  else if (what == "masquerade-all")
    facts_.masquerade_all = true;
  else if (what == "node-ports-all")
    facts_.node_ports_match_all = true;
  else if (what == "counters")
    facts_.counters = true;
  else if (what == "capacity")
    capacity_ = number(words.at(1));
  else if (what == "service-cidr")
    facts_.service_cidrs.push_back(prefix(words.at(1)));
  else if (what == "detector")
    take_detector(words);
  else if (what == "class")
    take_class(words);
  else if (what == "add" || what == "remove")
    take_element(words, what == "remove");
  else if (what == "firewall") {
    std::vector<abi::Prefix> allowed;
    for (std::size_t i = 2; i < words.size(); ++i) allowed.push_back(prefix(words[i]));
    firewalls_.emplace_back(number(words.at(1)), std::move(allowed));
  } else {
    throw std::runtime_error("what is " + what + "?");
  }
}

void Description::take_detector(const Words& words) {
  if (words.at(1) == "cidr") {
    facts_.detector = abi::LocalDetectorKind::kCidr;
    facts_.detector_cidr = prefix(words.at(2));
    return;
  }
  facts_.detector =
      words[1] == "bridge" ? abi::LocalDetectorKind::kBridgeInterface : abi::LocalDetectorKind::kInterfaceNamePrefix;
  facts_.detector_interface = words.at(2);
}

void Description::take_class(const Words& words) {
  static const std::map<std::string, ServiceClass::Kind> kKinds = {
      {"cluster", ServiceClass::Kind::kCluster},
      {"local", ServiceClass::Kind::kLocal},
      {"external", ServiceClass::Kind::kExternal},
      {"external-local", ServiceClass::Kind::kExternalLocal}};
  ServiceClass service_class;
  service_class.kind = kKinds.at(words.at(2));
  service_class.cluster = number(words.at(3));
  service_class.local = number(words.at(4));
  service_class.affinity_seconds = number(words.at(5));
  service_class.node_port = words.size() > 6;
  classes_.emplace_back(number(words.at(1)), service_class);
}

template <class To>
void Description::append(To& to, char kind, const std::string& word) const {
  if (kind == 'a') {
    const auto address = sdk::parse_address(word, facts_.family);
    if (!address) throw std::runtime_error("no address: " + word);
    to.append(address->bytes, sdk::address_bytes(facts_.family));
  } else if (kind == 'p') {
    const std::uint8_t protocol = word == "tcp" ? 6 : word == "udp" ? 17 : 132;
    to.append(&protocol, sizeof(protocol));
  } else if (kind == 't') {
    const std::uint32_t port = number(word);
    const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
    to.append(bytes, sizeof(bytes));
  } else {
    const std::uint32_t value = number(word);
    to.append(&value, sizeof(value));
  }
}

void Description::take_element(const Words& words, bool remove) {
  for (const Shape& shape : kShapes) {
    if (set_spec(facts_.family, shape.id).name != words.at(1)) continue;
    ElementWrite write;
    write.record.set = shape.id;
    write.remove = remove;
    std::size_t at = 2;
    for (const char* kind = shape.key; *kind != 0; ++kind) append(write.record.key, *kind, words.at(at++));
    if (*shape.data != 0 && !remove) {
      ++at;  // ":"
      for (const char* kind = shape.data; *kind != 0; ++kind) append(write.record.data, *kind, words.at(at++));
    }
    if (at + 1 < words.size()) write.comment = words.at(at + 1);
    elements_.push_back(std::move(write));
    return;
  }
  throw std::runtime_error("no set: " + words.at(1));
}

void Description::add_chain(std::vector<ChainWrite>& to, std::set<std::string>& added, const ChainSpec& spec) const {
  if (added.insert(spec.name).second) to.push_back({spec, true});
}

void Description::add_class(std::vector<ChainWrite>& to, std::set<std::string>& added,
                            const ServiceClass& service_class) const {
  for (const auto& earlier : depends_on(service_class)) add_class(to, added, earlier);
  add_chain(to, added, class_chain(facts_, service_class));
}

Batch Description::all() const {
  Batch batch = elements_only();
  batch.create_table = true;
  batch.create_sets = all_sets(facts_.family, facts_.counters, capacity_);
  std::set<std::string> added;
  // Fixed chains first, as shared chains refer to some of them.
  for (const auto& spec : fixed_chains(facts_)) add_chain(batch.chains, added, spec);
  for (const auto& [number, service_class] : classes_) {
    add_class(batch.chains, added, service_class);
    batch.dispatch.push_back({false, number, chain_name(service_class), false});
  }
  for (const auto& [number, allowed] : firewalls_) {
    add_chain(batch.chains, added, firewall_chain(facts_, allowed));
    batch.dispatch.push_back({true, number, firewall_chain_name(allowed), false});
  }
  return batch;
}

Batch Description::elements_only() const {
  Batch batch;
  batch.elements = elements_;
  std::stable_sort(batch.elements.begin(), batch.elements.end(),
                   [](const ElementWrite& a, const ElementWrite& b) { return a.remove > b.remove; });
  return batch;
}

std::vector<std::string> Description::differences(const Listing& listing) const {
  std::vector<std::string> found;
  const Batch wanted = all();
  for (const auto& spec : wanted.create_sets) {
    const auto at = listing.sets.find(spec.name);
    if (at == listing.sets.end()) {
      found.push_back("set " + spec.name + " is missing");
      continue;
    }
    const SetSpec& has = at->second;
    if (has.flags != spec.flags || has.key_type != spec.key_type || has.key_size != spec.key_size ||
        has.data_type != spec.data_type || has.data_size != spec.data_size || has.capacity != spec.capacity ||
        has.timeout_ms != spec.timeout_ms || has.counters != spec.counters || has.userdata != spec.userdata) {
      found.push_back("set " + spec.name + " has another shape");
    }
  }
  for (const auto& chain : wanted.chains) {
    const auto at = listing.chains.find(chain.spec.name);
    if (at == listing.chains.end()) {
      found.push_back("chain " + chain.spec.name + " is missing");
      continue;
    }
    if (at->second.is_base != chain.spec.is_base || (chain.spec.is_base && !(at->second.hook == chain.spec.hook))) {
      found.push_back("chain " + chain.spec.name + " has another hook");
    }
    const auto& has = at->second.rules;
    for (std::size_t i = 0; i < std::max(has.size(), chain.spec.rules.size()); ++i) {
      if (i < has.size() && i < chain.spec.rules.size() && has[i] == chain.spec.rules[i]) continue;
      found.push_back("rule " + std::to_string(i) + " of " + chain.spec.name + ": wanted\n" +
                      (i < chain.spec.rules.size() ? chain.spec.rules[i].text + chain.spec.rules[i].comment : "none") +
                      "\nfound\n" + (i < has.size() ? has[i].text + has[i].comment : "none"));
    }
  }
  if (listing.chains.size() != wanted.chains.size()) found.push_back("there are other chains");
  if (listing.sets.size() != wanted.create_sets.size()) found.push_back("there are other sets");
  if (listing.dispatch.size() != wanted.dispatch.size()) found.push_back("the numbers of chains differ");
  std::array<std::size_t, kSetCount> counts{};
  for (const auto& element : elements_) {
    if (element.remove) continue;
    const auto& table = listing.records[index(element.record.set)];
    ++counts[index(element.record.set)];
    const auto place = table.find(element.record.key);
    if (!place || !(table.data(*place) == element.record.data) ||
        table.comment(*place) != comment_hash(element.comment)) {
      found.push_back("an element of " + set_spec(facts_.family, element.record.set).name + " differs");
    }
  }
  for (std::size_t i = 0; i < kSetCount; ++i) {
    if (counts[i] != listing.records[i].size()) {
      found.push_back("there are other elements in " + set_spec(facts_.family, static_cast<SetId>(i)).name);
    }
  }
  return found;
}

int run(const std::string& what) {
  Description description;
  description.read(std::cin);
  const Table table = open_table(description.family());
  if (what == "compare") {
    const auto found = description.differences(table.kernel->list());
    for (const auto& sentence : found) std::cout << sentence << '\n';
    return found.empty() ? 0 : 1;
  }
  Batch batch = what == "create" ? description.all() : description.elements_only();
  if (what == "create") batch.delete_table = table.kernel->list().exists;
  const auto refusals = table.kernel->commit(batch);
  for (const auto& refusal : refusals) std::cout << refusal.what << ": error " << refusal.error << '\n';
  return refusals.empty() ? 0 : 1;
}

}  // namespace
}  // namespace sluice::nftables

int main(int count, char** words) {
  try {
    return sluice::nftables::run(count > 1 ? words[1] : "create");
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 2;
  }
}

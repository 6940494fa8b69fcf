// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/table_reading.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/nftables/table_model.hpp"

namespace sluice::test {

namespace {

using namespace nftables;

constexpr std::uint32_t kNoNumber = 0xf0000000;
constexpr std::uint32_t kMostEndpoints = 24;
constexpr std::uint32_t kSeconds[] = {0, 60, 10800};
constexpr Client kClients[] = {Client::kOutside, Client::kPod, Client::kNode};
// Sets whose key is a frontend.
constexpr std::pair<SetId, bool> kByFrontend[] = {
    {SetId::kServiceIps, false},         {SetId::kServiceNodePorts, true},  {SetId::kNoEndpointServices, false},
    {SetId::kNoEndpointNodePorts, true}, {SetId::kNoLocalServices, false},  {SetId::kNoLocalNodePorts, true},
    {SetId::kFirewallIps, false},        {SetId::kAffinityServices, false}, {SetId::kAffinityNodePorts, true}};

// All service classes by the names of their chains.
std::map<std::string, ServiceClass> all_service_classes() {
  std::map<std::string, ServiceClass> found;
  for (const auto kind : {ServiceClass::Kind::kCluster, ServiceClass::Kind::kLocal, ServiceClass::Kind::kExternal,
                          ServiceClass::Kind::kExternalLocal}) {
    for (const bool node_port : {false, true}) {
      for (const std::uint32_t seconds : kSeconds) {
        for (std::uint32_t cluster = 0; cluster <= kMostEndpoints; ++cluster) {
          for (std::uint32_t local = 0; local <= kMostEndpoints; ++local) {
            if (kind == ServiceClass::Kind::kLocal ? cluster != 0
                                                   : kind != ServiceClass::Kind::kExternalLocal && local != 0)
              continue;
            const ServiceClass service_class{kind, node_port, cluster, local, seconds};
            found.emplace(chain_name(service_class), service_class);
          }
        }
      }
    }
  }
  return found;
}

const std::map<std::string, ServiceClass>& service_classes() {
  static const std::map<std::string, ServiceClass> all = all_service_classes();
  return all;
}

bool same(const Firewall& a, const Firewall& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const abi::Prefix& one, const abi::Prefix& other) {
    return one.length == other.length &&
           std::memcmp(one.address.bytes, other.address.bytes, sizeof(one.address.bytes)) == 0;
  });
}

class Reading {
 public:
  Reading(abi::Family family, const Listing& listing, const std::vector<abi::ServicePort>& ports,
          const abi::NodeFacts& node, bool counters)
      : family_(family), listing_(listing), ports_(ports), node_(node), facts_(layout_facts(family, node, counters)) {}

  std::vector<std::string> run() {
    if (!listing_.exists) return {"there is no table"};
    sets();
    for (const ChainSpec& chain : fixed_chains(facts_)) same_rules(chain);
    shared_chains();
    frontends();
    addresses();
    return std::move(wrong_);
  }

 private:
  void add_fault(std::string sentence) { wrong_.push_back(std::move(sentence)); }

  void sets() {
    for (const SetSpec& spec : all_sets(family_, facts_.counters, 1)) {
      if (listing_.sets.count(spec.name) == 0) add_fault("set " + spec.name + " is not there");
    }
  }

  void same_rules(const ChainSpec& wanted) {
    fixed_.insert(wanted.name);
    const auto found = listing_.chains.find(wanted.name);
    if (found == listing_.chains.end()) return add_fault("chain " + wanted.name + " is not there");
    const KnownChain& chain = found->second;
    if (chain.is_base != wanted.is_base || (wanted.is_base && !(chain.hook == wanted.hook)))
      add_fault("chain " + wanted.name + " has another hook");
    if (chain.rules.size() != wanted.rules.size())
      return add_fault("chain " + wanted.name + " has " + std::to_string(chain.rules.size()) + " rules and not " +
                       std::to_string(wanted.rules.size()));
    for (std::size_t i = 0; i < wanted.rules.size(); ++i) {
      if (!(chain.rules[i] == wanted.rules[i]))
        add_fault("rule " + std::to_string(i) + " of chain " + wanted.name + " is\n" + chain.rules[i].text +
                  "and not\n" + wanted.rules[i].text);
    }
  }

  void shared_chains() {
    for (const abi::ServicePort& port : ports_) {
      for (const auto& frontend : sdk::range<abi::Frontend>(port.frontends)) {
        if (Firewall allowed = wanted_firewall(family_, port, node_.node_ip, frontend); !allowed.empty())
          firewalls_.emplace(firewall_chain_name(allowed), std::move(allowed));
      }
    }
    const std::set<std::uint32_t> used[2] = {numbers({SetId::kServiceIps, SetId::kServiceNodePorts}),
                                             numbers({SetId::kFirewallIps})};
    std::map<std::string, std::uint32_t> met;
    for (const DispatchWrite& entry : listing_.dispatch) {
      if (listing_.chains.count(entry.chain) == 0)
        add_fault("a number leads to chain " + entry.chain + ", which is not there");
      // An unused number may stay for a while, whatever happened to its chain.
      if (used[entry.firewall ? 1 : 0].count(entry.number) == 0) continue;
      if (const auto [other, fresh] = met.emplace(entry.chain, entry.number); !fresh)
        add_fault("numbers " + std::to_string(other->second) + " and " + std::to_string(entry.number) +
                  ", both in use, lead to chain " + entry.chain);
      add_chain(entry);
    }
    for (const auto& [name, chain] : listing_.chains) {
      if (fixed_.count(name) == 0 && !is_shared_chain(name)) add_fault("chain " + name + " is not a shared chain");
    }
    complete();
  }

  // The numbers in the data of these sets.
  std::set<std::uint32_t> numbers(std::initializer_list<SetId> sets) const {
    std::set<std::uint32_t> found;
    for (const SetId set : sets) {
      const RecordTable& table = listing_.records[index(set)];
      for (std::size_t place = 0; place < table.size(); ++place) found.insert(read_number(table.data(place)));
    }
    return found;
  }

  // Adds chains without a number that other chains refer to; each is behind the chains it refers to.
  void complete() {
    std::set<std::string> names;
    for (const SharedChain& chain : chains_) names.insert(chain.name);
    std::vector<ServiceClass> open;
    for (const SharedChain& chain : chains_) {
      if (!chain.firewall) open.push_back(chain.service_class);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const ServiceClass& other : depends_on(open[i])) {
        SharedChain chain;
        chain.number = kNoNumber + static_cast<std::uint32_t>(chains_.size());
        chain.service_class = other;
        chain.name = chain_name(other);
        open.push_back(other);
        if (names.insert(chain.name).second) chains_.push_back(std::move(chain));
      }
    }
    std::stable_sort(chains_.begin(), chains_.end(), [](const SharedChain& a, const SharedChain& b) {
      return a.service_class.kind < b.service_class.kind;
    });
  }

  void add_chain(const DispatchWrite& entry) {
    SharedChain chain;
    chain.firewall = entry.firewall;
    chain.number = entry.number;
    chain.name = entry.chain;
    chain.users = 1;
    if (entry.firewall) {
      // A chain for an unknown list is reported only if a frontend uses it.
      if (const auto found = firewalls_.find(entry.chain); found != firewalls_.end()) {
        chain.allowed = found->second;
        same_rules(firewall_chain(facts_, chain.allowed));
      }
    } else {
      const auto found = service_classes().find(entry.chain);
      if (found == service_classes().end())
        return add_fault("a number leads to chain " + entry.chain + ", which is not of a service class");
      chain.service_class = found->second;
      compare_rules(chain.service_class);
    }
    chains_.push_back(std::move(chain));
  }

  void compare_rules(const ServiceClass& service_class) {
    for (const ServiceClass& other : depends_on(service_class)) compare_rules(other);
    const ChainSpec wanted = class_chain(facts_, service_class);
    if (compared_.insert(wanted.name).second) same_rules(wanted);
  }

  void frontends() {
    std::vector<Record> records;
    for (std::size_t i = 0; i < kSetCount; ++i) {
      const RecordTable& table = listing_.records[i];
      for (std::size_t place = 0; place < table.size(); ++place)
        records.push_back({static_cast<SetId>(i), table.key(place), table.data(place)});
    }
    const TableModel model(family_, records, chains_);
    for (std::string& fault : model.faults()) add_fault(std::move(fault));
    struct Claim {
      const abi::ServicePort* port;
      abi::Frontend frontend;
    };
    std::map<Key, std::vector<Claim>> claims[2];  // node ports are 1
    for (const abi::ServicePort& port : ports_) {
      for (const auto& frontend : sdk::range<abi::Frontend>(port.frontends)) {
        const FrontendKey key = frontend_of(port, frontend);
        claims[key.node_port ? 1 : 0][frontend_key(family_, key)].push_back({&port, frontend});
      }
    }
    for (const auto& [set, node_port] : kByFrontend) {
      const RecordTable& table = listing_.records[index(set)];
      for (std::size_t place = 0; place < table.size(); ++place) {
        if (claims[node_port ? 1 : 0].count(table.key(place)) == 0)
          add_fault("no service port wants " + to_string(family_, read_frontend(family_, table.key(place), node_port)) +
                    " of " + set_spec(family_, set).name);
      }
    }
    for (const auto& side : claims) {
      for (const auto& [key, list] : side) {
        std::string why;
        const bool good = std::any_of(list.begin(), list.end(),
                                      [&](const Claim& one) { return means(model, *one.port, one.frontend, why); });
        if (!good) add_fault(why);
      }
    }
  }

  // Whether the frontend is served as the service port requires.
  bool means(const TableModel& model, const abi::ServicePort& port, const abi::Frontend& frontend,
             std::string& why) const {
    const FrontendKey key = frontend_of(port, frontend);
    const std::string what = sdk::service_port_name(port.key) + " " + to_string(family_, key);
    if (!same(model.firewall(key), wanted_firewall(family_, port, node_.node_ip, frontend))) {
      why += what + " has another firewall; ";
      return false;
    }
    for (const Client client : kClients) {
      const Outcome found = model.ask(client, key), wanted = wanted_outcome(port, client, frontend);
      if (found == wanted) continue;
      why += what + ", client " + std::to_string(static_cast<int>(client)) + ": " + to_string(family_, found) +
             " and not " + to_string(family_, wanted) + "; ";
      return false;
    }
    return true;
  }

  void addresses() {
    std::set<Key> cluster, hairpin, node_ports;
    for (const abi::ServicePort& port : ports_) {
      for (const auto& frontend : sdk::range<abi::Frontend>(port.frontends)) {
        if (frontend.kind == abi::FrontendKind::kClusterIp) cluster.insert(address_key(family_, frontend.address));
      }
      for (const auto& endpoint : sdk::range<abi::Endpoint>(port.endpoints)) {
        const bool reachable =
            ((endpoint.flags & abi::kEndpointInCluster) != 0 && (port.flags & abi::kUsesClusterEndpoints) != 0) ||
            ((endpoint.flags & abi::kEndpointInLocal) != 0 && (port.flags & abi::kUsesLocalEndpoints) != 0);
        if (reachable && (endpoint.flags & abi::kEndpointOnThisNode) != 0)
          hairpin.insert(hairpin_key(family_, {endpoint.address, endpoint.port}, port.key.protocol));
      }
    }
    for (const auto& address : sdk::range<abi::Address>(node_.node_port_addresses))
      node_ports.insert(address_key(family_, address));
    same_keys(SetId::kClusterIps, cluster);
    same_keys(SetId::kHairpin, hairpin);
    if ((node_.flags & abi::kNodePortsMatchAll) == 0) same_keys(SetId::kNodePortIps, node_ports);
  }

  void same_keys(SetId set, const std::set<Key>& wanted) {
    const RecordTable& table = listing_.records[index(set)];
    std::set<Key> found;
    for (std::size_t place = 0; place < table.size(); ++place) found.insert(table.key(place));
    if (found != wanted)
      add_fault(set_spec(family_, set).name + " has " + std::to_string(found.size()) + " elements, not the " +
                std::to_string(wanted.size()) + " that are wanted");
  }

  const abi::Family family_;
  const Listing& listing_;
  const std::vector<abi::ServicePort>& ports_;
  const abi::NodeFacts& node_;
  const LayoutFacts facts_;
  std::map<std::string, Firewall> firewalls_;
  std::vector<SharedChain> chains_;
  std::set<std::string> fixed_, compared_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> read_against(abi::Family family, const Listing& listing,
                                      const std::vector<abi::ServicePort>& ports, const abi::NodeFacts& node,
                                      bool counters) {
  return Reading(family, listing, ports, node, counters).run();
}

std::vector<std::string> differ_in_size(const Listing& a, const Listing& b) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < kSetCount; ++i) {
    if (a.records[i].size() != b.records[i].size())
      found.push_back(set_spec(abi::Family::kIpv4, static_cast<SetId>(i)).name + " has " +
                      std::to_string(a.records[i].size()) + " elements, and in one step " +
                      std::to_string(b.records[i].size()));
  }
  return found;
}

std::string what_differs(abi::Family family, const Listing& before, const Listing& after) {
  std::string text;
  const auto compare = [&](const std::set<std::string>& a, const std::set<std::string>& b) {
    for (const std::string& one : a) text += b.count(one) == 0 ? "\ngone: " + one : "";
    for (const std::string& one : b) text += a.count(one) == 0 ? "\ncame: " + one : "";
  };
  const auto lines = [&](const Listing& listing) {
    std::set<std::string> found;
    for (const DispatchWrite& one : listing.dispatch)
      found.insert(std::to_string(one.number) + " leads to " + one.chain);
    for (const auto& [name, chain] : listing.chains)
      found.insert("chain " + name + " with " + std::to_string(chain.rules.size()) + " rules");
    for (std::size_t i = 0; i < kSetCount; ++i) {
      const RecordTable& table = listing.records[i];
      for (std::size_t place = 0; place < table.size(); ++place) {
        std::string line = set_spec(family, static_cast<SetId>(i)).name;
        const Key key = table.key(place);
        const Data data = table.data(place);
        for (std::size_t at = 0; at < key.size(); ++at) line += " " + std::to_string(key.data()[at]);
        for (std::size_t at = 0; at < data.size(); ++at)
          line += (at == 0 ? " : " : " ") + std::to_string(data.data()[at]);
        found.insert(line + " comment " + std::to_string(table.comment(place)));
      }
    }
    return found;
  };
  compare(lines(before), lines(after));
  return text;
}

}  // namespace sluice::test

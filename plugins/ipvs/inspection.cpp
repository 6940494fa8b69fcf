// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/inspection.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "plugins/ipvs/frontend_sets.hpp"
#include "plugins/ipvs/rules/rule_comparison.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {
namespace {

using inspection::add;
using inspection::Remarks;
using inspection::ServiceLine;
using netfilter::Table;

inspection::Otherwise no_virtual_server() { return {0, std::string(inspection::kNowhere), {"no virtual server"}}; }

class Decoder {
 public:
  Decoder(const KernelState& kernel, const Wanted& wanted, const PlanFacts& facts, const RuleFacts& rule_facts,
          inspection::Answer& answer)
      : kernel_(kernel),
        wanted_(wanted),
        facts_(facts),
        family_(facts.family),
        rules_(kernel.rules, rule_facts, wanted.closed()),
        answer_(answer) {}

  void write() {
    std::vector<const VirtualServer*> servers;
    for (const VirtualServer& server : kernel_.servers) servers.push_back(&server);
    std::sort(servers.begin(), servers.end(), [](const auto* a, const auto* b) { return a->key < b->key; });
    for (const VirtualServer* const server : servers) {
      const PortId* const owner = wanted_.owner(server->key);
      listed_.insert(server->key);
      if (is_node_port(server->key)) listed_node_ports_.insert({server->key.protocol, server->key.port});
      if (answer_.wants(owner != nullptr ? std::string_view(owner->first) : std::string_view()))
        write_server(*server, owner);
    }
    write_without_servers();
    for (auto& [order, one] : node_ports_) {
      one.line.addresses = std::move(one.addresses);
      answer_.add(std::move(one.line));
    }
    if (answer_.is_complete()) write_not_wanted();
  }

 private:
  const SetContents& set(SetId id) const { return kernel_.sets[static_cast<std::size_t>(id)]; }
  bool has(SetId id, const SetEntry& entry) const { return set(id).contains(entry); }

  // For a virtual server that no service port wants, the sets decide.
  bool is_node_port(const ServerKey& key) const {
    if (wanted_.owner(key) != nullptr) return wanted_.is_node_port(key);
    if (!has(SetId::kNodePortAddresses, entry_of(key.address))) return false;
    const SetEntry entry = entry_of(key);
    if (std::any_of(kAddressSets.begin(), kAddressSets.end(), [&](SetId id) { return has(id, entry); })) return false;
    return has(port_sets(key.protocol).all, node_port_entry(port_sets(key.protocol), key));
  }

  void write_server(const VirtualServer& server, const PortId* owner) {
    const ServerKey& key = server.key;
    const bool node_port = is_node_port(key);
    ServiceLine line;
    if (owner != nullptr) line.service_port = owner->first;
    line.place = {node_port, node_port ? abi::Address{} : key.address, key.port, key.protocol};
    if ((server.flags & kPersistent) != 0) line.sticky_seconds = server.persistence_seconds;
    Remarks remarks;
    add_missing_entries(key, node_port, remarks);
    const bool passes = node_port || passes_filter(key);
    fill_targets(key, line);
    line.masqueraded = masquerades(key, node_port, remarks) && !line.targets.empty();
    if (line.targets.empty()) line.sticky_seconds = 0;
    if (!node_port) {
      add_restriction(key, line);
      if (!kernel_.addresses.contains(key.address) && !facts_.local_addresses.contains(key.address)) {
        add(remarks, std::string("not an address of ") + kLinkName);
      }
    }
    if (!passes) {
      line.targets = {};
      line.sticky_seconds = 0;
      line.masqueraded = false;
      line.otherwise = {abi::kInspectedRejected, "rejected"};
    }
    line.remarks = std::move(remarks);
    put(std::move(line), key, node_port);
  }

  // A node port has a virtual server per address: those with equal text become one line.
  void put(ServiceLine line, const ServerKey& key, bool node_port) {
    if (!node_port) {
      answer_.add(std::move(line));
      return;
    }
    const std::tuple order(key.port, key.protocol, line.service_port, inspection::Row(line, family_).text());
    NodePort& one = node_ports_[order];
    one.line = std::move(line);
    one.addresses.add(key.address, family_);
  }

  void add_missing_entries(const ServerKey& key, bool node_port, Remarks& remarks) const {
    for (const SetItem& item : items_of(key, node_port)) {
      if (wanted_.wants(item) && !has(item.set, item.entry)) add(remarks, "no entry in " + set_name(item.set, family_));
    }
  }

  // KUBE-IPVS-FILTER rejects new connections to addresses of kube-ipvs0 that are in no set.
  bool passes_filter(const ServerKey& key) const {
    if (!rules_.rejects_unknown() || !has(SetId::kIpvsAddresses, entry_of(key.address))) return true;
    return std::any_of(kAddressSets.begin(), kAddressSets.end(), [&](SetId id) {
      return has(id, entry_of(key)) && rules_.chains_without(Table::kFilter, id).empty();
    });
  }

  void fill_targets(const ServerKey& key, ServiceLine& line) const {
    inspection::Targets targets;
    Remarks draining;
    bool serves = false;
    for (const RealServerState& real : kernel_.real_servers(key)) {
      inspection::Target target{real.server.address, real.server.port};
      Remarks& remarks = target.remarks;
      target.draining = real.weight == 0;
      if (target.draining) {
        add(remarks, "drains");
        draining.push_back(sdk::host_port(real.server.address, family_, real.server.port) + " drains");
      }
      serves = serves || real.weight != 0;
      if (!real.masquerades) add(remarks, "its forwarding method is not NAT");
      if (!hairpin_works(real.server, key.protocol)) add(remarks, "its own connections are not masqueraded");
      targets.list.push_back(std::move(target));
    }
    if (serves) {
      line.targets = std::move(targets);
    } else {
      std::sort(draining.begin(), draining.end());
      line.otherwise = inspection::rejected(std::move(draining));
    }
  }

  // Whether connections of a local endpoint to itself (hairpin) are masqueraded.
  bool hairpin_works(const RealServer& real, abi::Protocol protocol) const {
    SetEntry entry = entry_of({real.address, real.port, protocol});
    entry.other = real.address;
    entry.other_length = static_cast<std::uint8_t>(sdk::address_bytes(family_) * 8);
    if (!wanted_.wants(SetItem{SetId::kLoopBack, entry})) return true;
    return has(SetId::kLoopBack, entry) && rules_.chains_without(Table::kNat, SetId::kLoopBack).empty();
  }

  bool masquerades(const ServerKey& key, bool node_port, Remarks& remarks) const {
    Remarks missing;
    const auto need_rules = [&](SetId id) {
      for (const std::string& chain : rules_.chains_without(Table::kNat, id)) {
        add(missing, chain + " has no rule for " + set_name(id, family_));
      }
    };
    const auto need_chain = [&](std::string_view chain) {
      if (rules_.lacks_rule(Table::kNat, chain)) add(missing, std::string(chain) + " lacks a rule");
    };
    const auto need_jump = [&](std::string_view from, std::string_view to) {
      if (rules_.lacks_jump(Table::kNat, from, to))
        add(missing, std::string(from).append(" does not lead to ").append(to));
    };
    bool wanted = false;
    if (node_port) {
      const PortSets& sets = port_sets(key.protocol);
      const SetEntry entry = node_port_entry(sets, key);
      wanted = has(sets.all, entry) && !has(sets.local, entry);
      need_rules(sets.all);
      need_chain(names::kServices);
    } else if (has(SetId::kLoadBalancer, entry_of(key))) {
      wanted = !has(SetId::kLoadBalancerLocal, entry_of(key));
      need_rules(SetId::kLoadBalancer);
      need_chain(names::kLoadBalancerChain);
    } else if (has(SetId::kExternalIp, entry_of(key))) {
      wanted = true;
      need_rules(SetId::kExternalIp);
    }
    if (!wanted) return false;
    for (const std::string_view chain : {names::kMarkMasquerade, names::kPostrouting}) need_chain(chain);
    for (const std::string_view from : {"PREROUTING", "OUTPUT"}) need_jump(from, names::kServices);
    need_jump("POSTROUTING", names::kPostrouting);
    remarks.insert(remarks.end(), missing.begin(), missing.end());
    return missing.empty();
  }

  void add_restriction(const ServerKey& key, ServiceLine& line) {
    const SetEntry entry = entry_of(key);
    if (!has(SetId::kLoadBalancerFirewall, entry)) return;
    if (!ranges_read_) read_ranges();
    std::vector<abi::Prefix> ranges = ranges_[key];
    std::sort(ranges.begin(), ranges.end(), [](const abi::Prefix& a, const abi::Prefix& b) {
      return a.address != b.address ? a.address < b.address : a.length < b.length;
    });
    join_halves(ranges);
    Remarks missing;
    for (const SetId id : {SetId::kLoadBalancerFirewall, SetId::kLoadBalancerSourceCidr}) {
      for (const std::string& chain : rules_.chains_without(Table::kFilter, id)) {
        add(missing, chain + " has no rule for " + set_name(id, family_));
      }
    }
    if (rules_.lacks_rule(Table::kFilter, names::kSourceRanges)) {
      add(missing, "KUBE-SOURCE-RANGES-FIREWALL does not drop other sources");
    }
    for (const std::string_view from : {"INPUT", "FORWARD"}) {
      if (rules_.lacks_jump(Table::kFilter, from, names::kProxyFirewall)) {
        add(missing, std::string(from) + " does not lead to KUBE-PROXY-FIREWALL");
      }
    }
    const bool closed = rules_.closes(key) && !rules_.lacks_jump(Table::kFilter, "OUTPUT", kOutFilterChain);
    if (!node_allowed_.contains(key) && !closed) add(missing, "processes of this node are not dropped");
    line.only_for = {true, std::move(ranges), "no source", std::move(missing)};
  }

  void read_ranges() {
    ranges_read_ = true;
    for (const SetEntry& entry : set(SetId::kLoadBalancerSourceCidr)) {
      abi::Prefix range{};
      range.address = entry.other;
      range.length = entry.other_length;
      ranges_[{entry.address, entry.port, entry.protocol}].push_back(range);
    }
    for (const SetEntry& entry : set(SetId::kLoadBalancerSourceIp)) {
      node_allowed_.insert({entry.address, entry.port, entry.protocol});
    }
  }

  // A set holds a network of length 0 as two halves.
  static void join_halves(std::vector<abi::Prefix>& ranges) {
    abi::Prefix low{}, high{};
    low.length = high.length = 1;
    high.address.bytes[0] = 0x80;
    const auto first = std::find(ranges.begin(), ranges.end(), low);
    const auto second = std::find(ranges.begin(), ranges.end(), high);
    if (first == ranges.end() || second == ranges.end()) return;
    first->length = 0;
    ranges.erase(second);
  }

  // Frontends that have set entries but no virtual server.
  void write_without_servers() {
    std::set<ServerKey> lost;
    for (const SetId id : kAddressSets) {
      for (const SetEntry& entry : set(id)) {
        const ServerKey key{entry.address, entry.port, entry.protocol};
        if (wanted_.owner(key) != nullptr && !listed_.contains(key)) lost.insert(key);
      }
    }
    for (const ServerKey& key : lost) {
      ServiceLine line;
      line.service_port = wanted_.owner(key)->first;
      line.place = {false, key.address, key.port, key.protocol};
      line.otherwise = no_virtual_server();
      answer_.add(std::move(line));
    }
    for (const auto& [where, name] : wanted_.node_ports()) {
      const PortSets& sets = port_sets(where.first);
      if (listed_node_ports_.contains(where) ||
          (!sets.has_address && !has(sets.all, node_port_entry(sets, {{}, where.second, where.first})))) {
        continue;
      }
      ServiceLine line;
      line.service_port = name;
      line.place = {true, {}, where.second, where.first};
      line.otherwise = no_virtual_server();
      answer_.add(std::move(line));
    }
  }

  void write_not_wanted() {
    for (const SetId id : all_sets()) {
      std::vector<SetEntry> unwanted;
      for (const SetEntry& entry : set(id)) {
        const bool node_address =
            id == SetId::kNodePortAddresses &&
            std::binary_search(facts_.node_port_addresses.begin(), facts_.node_port_addresses.end(), entry.address);
        if (!node_address && !wanted_.wants(SetItem{id, entry})) unwanted.push_back(entry);
      }
      std::sort(unwanted.begin(), unwanted.end());
      for (const SetEntry& entry : unwanted) {
        answer_.add_not_wanted("entry " + to_string(entry, spec(id).type, family_) + " of " + set_name(id, family_));
      }
    }
    for (const abi::Address& address : kernel_.addresses) {
      if (wanted_.wants(address)) continue;
      answer_.add_not_wanted("address " + sdk::to_string(address, family_) + " of " + kLinkName);
    }
    for (const std::string& rule : rules_.foreign()) answer_.add_not_wanted("rule " + rule);
  }

  const KernelState& kernel_;
  const Wanted& wanted_;
  const PlanFacts& facts_;
  const abi::Family family_;
  const RuleComparison rules_;
  inspection::Answer& answer_;
  std::set<ServerKey> listed_;
  std::set<std::pair<abi::Protocol, std::uint16_t>> listed_node_ports_;
  struct NodePort {
    ServiceLine line;  // without its addresses
    inspection::NodePortAddresses addresses;
  };
  // By port, protocol, service port and the rest of the line.
  std::map<std::tuple<std::uint16_t, abi::Protocol, std::string, std::string>, NodePort> node_ports_;
  bool ranges_read_ = false;
  std::map<ServerKey, std::vector<abi::Prefix>> ranges_;
  std::set<ServerKey> node_allowed_;  // whose source may be the address itself
};

}  // namespace

SetContents read_set(SetKernel& kernel, SetId set, abi::Family family) {
  SetContents contents;
  const std::string name = set_name(set, family);
  const auto header = kernel.header(name);
  if (!header || header->type != type_name(spec(set).type)) return contents;
  for (const SetEntry& entry : kernel.entries(name, spec(set).type)) contents.insert(entry);
  return contents;
}

void inspect(const KernelState& kernel, const Wanted& wanted, const PlanFacts& facts, const RuleFacts& rule_facts,
             inspection::Answer& answer) {
  Decoder(kernel, wanted, facts, rule_facts, answer).write();
}

}  // namespace sluice::ipvs

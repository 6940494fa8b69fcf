// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/inspection.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::iptables {
namespace {

using inspection::add;
using inspection::kNowhere;
using inspection::Remarks;
using inspection::ServiceLine;

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " % of connections"; }

class Decoder {
 public:
  Decoder(KernelRules& rules, const ServiceNames& names, const PlanFacts& facts, inspection::Answer& answer)
      : rules_(rules), names_(names), by_hash_(names.by_hash()), facts_(facts), answer_(answer) {
    for (const auto& [place, there] : rules.places) {
      for (const DispatchRule& rule : there.dispatch) {
        if (rule.to.kind == ChainKind::kFirewall) balancers_[rule.to.hash].push_back(place.address);
      }
    }
  }

  void write() {
    for (const auto& [place, there] : rules_.places) write_place(place, there);
    if (!answer_.is_complete()) return;
    write_unreached(ChainKind::kFirewall, rules_.firewalls);
    write_unreached(ChainKind::kExternal, rules_.externals);
    write_unreached(ChainKind::kCluster, rules_.clusters);
    write_unreached(ChainKind::kLocal, rules_.locals);
    write_unreached(ChainKind::kEndpoint, rules_.endpoints);
    for (const auto& [name, port] : rules_.health_checks) {
      if (names_.contains(name, abi::Protocol::kTcp) || names_.contains(name, abi::Protocol::kUdp) ||
          names_.contains(name, abi::Protocol::kSctp)) {
        continue;
      }
      answer_.add_not_wanted("health check node port " + std::to_string(port) + " of " + name);
    }
    for (const std::string& rule : rules_.unknown) answer_.add_not_wanted("rule " + rule);
    if (rules_.more_unknown != 0) answer_.add_not_wanted(std::to_string(rules_.more_unknown) + " more rules");
  }

 private:
  // The endpoints that a balancing chain leads to.
  struct Targets {
    inspection::Targets list{};
    std::uint32_t seconds = 0;
  };
  // One endpoint of a balancing chain.
  struct Share {
    netfilter::ShortHash endpoint{};
    std::uint32_t seconds = 0;
    double share = 0;
  };

  void write_place(const Place& place, const FrontendRules& there) {
    bool reached = false;
    bool has_firewall = false;
    std::set<std::string> refused;  // service ports whose refusal is printed
    for (const DispatchRule& rule : there.dispatch) {
      has_firewall = has_firewall || rule.to.kind == ChainKind::kFirewall;
      ServiceLine line = new_line(place);
      const auto name = by_hash_.find(rule.to.hash);
      if (name != by_hash_.end()) line.service_port = name->second.service_port_name;
      const bool is_first = !std::exchange(reached, reached || !rule.only_to);
      if (!answer_.wants(line.service_port)) continue;
      Remarks remarks;
      if (!is_first) add(remarks, "never reached, an earlier rule is for the same address and port");
      if (place.node_port) line.addresses = node_port_addresses(rule);
      follow(rule.to, place, line, remarks);
      for (const RefusalRule& refusal : there.refusals) {
        if (refusal.name != line.service_port || !refused.insert(refusal.name).second) continue;
        if (line.targets.instead == kNowhere) line.targets = {};
        line.otherwise = reason(refusal, place);
      }
      finish(std::move(line), remarks);
    }
    for (const RefusalRule& refusal : there.refusals) {
      if (!refused.insert(refusal.name).second) continue;
      ServiceLine line = new_line(place);
      if (names_.contains(refusal.name, place.protocol)) line.service_port = refusal.name;
      if (place.node_port) line.addresses.every = true;
      line.otherwise = reason(refusal, place);
      finish(std::move(line), {});
    }
    if (!there.firewall || has_firewall) return;
    ServiceLine line = new_line(place);
    if (!there.dispatch.empty()) {
      answer_.add_not_wanted("rule of KUBE-PROXY-FIREWALL that drops " + inspection::to_string(place, facts_.family));
      return;
    }
    if (names_.contains(*there.firewall, place.protocol)) line.service_port = *there.firewall;
    line.otherwise = {abi::kInspectedDropped, "dropped", {"no rule of KUBE-SERVICES, one of KUBE-PROXY-FIREWALL"}};
    finish(std::move(line), {});
  }

  static ServiceLine new_line(const Place& place) {
    ServiceLine line;
    line.place = place;
    return line;
  }

  void finish(ServiceLine line, const Remarks& remarks) {
    const bool leads = !line.targets.empty() || !line.from_node.empty();
    line.masqueraded = line.masqueraded && leads;
    line.remarks = remarks;
    answer_.add(std::move(line));
  }

  inspection::NodePortAddresses node_port_addresses(const DispatchRule& rule) const {
    inspection::NodePortAddresses found;
    if (!rules_.node_ports_everywhere) {
      for (const abi::Address& address : rules_.node_port_addresses) {
        if (!rule.only_to || netfilter::contains(*rule.only_to, address)) found.add(address, facts_.family);
      }
    } else if (rule.only_to) {
      found.only.push_back(*rule.only_to);
    } else {
      found.every = true;
    }
    return found;
  }

  void need_jump(Table table, std::string_view from, SharedChain to, Remarks& remarks) const {
    if (rules_.has_jump(table, from, iptables::name(to))) return;
    add(remarks, std::string(from).append(" does not lead to ").append(iptables::name(to)));
  }

  inspection::Otherwise reason(const RefusalRule& refusal, const Place& place) const {
    Remarks remarks;
    const bool external = refusal.chain == SharedChain::kFilterExternal;
    if (external || place.node_port) need_jump(Table::kFilter, "INPUT", refusal.chain, remarks);
    need_jump(Table::kFilter, "FORWARD", refusal.chain, remarks);
    if (!external) need_jump(Table::kFilter, "OUTPUT", refusal.chain, remarks);
    return refusal.drops ? inspection::dropped(std::move(remarks)) : inspection::rejected(std::move(remarks));
  }

  // Fills the line with the effect of the chain of a service port.
  void follow(const ChainId& to, const Place& place, ServiceLine& line, Remarks& remarks) {
    need_jump(Table::kNat, "PREROUTING", SharedChain::kNatServices, remarks);
    need_jump(Table::kNat, "OUTPUT", SharedChain::kNatServices, remarks);
    switch (to.kind) {
      case ChainKind::kFirewall:
        follow_firewall(to, place, line, remarks);
        break;
      case ChainKind::kExternal:
        follow_external(to, line, remarks);
        break;
      case ChainKind::kCluster:
      case ChainKind::kLocal:
        follow_internal(to, line, remarks);
        break;
      case ChainKind::kEndpoint:
        break;
    }
  }

  void nowhere(const ChainId& chain, std::string_view why, ServiceLine& line) const {
    line.targets = inspection::nowhere({"chain " + iptables::name(chain) + " " + std::string(why)});
  }

  // Null if the chain is missing or has no rules; `line` then says so.
  template <class Content>
  const Content* enter(const ChainId& id, KernelRules::Chains<Content>& chains, ServiceLine& line) {
    const auto found = chains.find(id.hash);
    if (found == chains.end()) {
      nowhere(id, "is missing", line);
      return nullptr;
    }
    found->second.reached = true;
    if (found->second.rules != 0) return &found->second;
    nowhere(id, "is empty", line);
    return nullptr;
  }

  void follow_firewall(const ChainId& id, const Place& place, ServiceLine& line, Remarks& remarks) {
    const FirewallChain* const chain = enter(id, rules_.firewalls, line);
    if (chain == nullptr) return;
    if (!chain->to) {
      nowhere(id, "leads no client to KUBE-EXT-", line);
      return;
    }
    auto sources =
        inspection::without_own_addresses(chain->sources, balancers_.at(id.hash), facts_.node_ip, facts_.family);
    Remarks missing;
    if (!rules_.places.at(place).firewall) add(missing, "KUBE-PROXY-FIREWALL does not drop other sources");
    for (const std::string_view from : {"INPUT", "OUTPUT", "FORWARD"}) {
      need_jump(Table::kFilter, from, SharedChain::kFilterFirewall, missing);
    }
    line.only_for = {!sources.empty() || !missing.empty(), std::move(sources), {}, std::move(missing)};
    follow_external(*chain->to, line, remarks);
  }

  void follow_external(const ChainId& id, ServiceLine& line, Remarks& remarks) {
    const ExternalChain* const chain = enter(id, rules_.externals, line);
    if (chain == nullptr) return;
    line.masqueraded = chain->masquerades;
    if (line.masqueraded) add_masquerade_remarks(remarks);
    if (chain->rest) {
      Targets targets = balance(*chain->rest);
      line.targets = std::move(targets.list);
      line.sticky_seconds = targets.seconds;
    }
    if (chain->node || chain->pods) {
      Remarks inside;
      if (!chain->node) add(inside, "not for processes of this node");
      if (!chain->pods && facts_.local.works()) add(inside, "not for pods of this node");
      if (chain->node && !chain->masquerades_node) add(inside, "processes of this node are not masqueraded");
      Targets targets = balance(chain->node ? *chain->node : *chain->pods);
      line.from_node = std::move(targets.list);
      for (std::string& remark : inside) add(line.from_node.remarks, std::move(remark));
      line.sticky_seconds = std::max(line.sticky_seconds, targets.seconds);
    }
    if (chain->rest) return;
    if (line.from_node.empty()) {
      nowhere(id, "leads to no endpoints", line);
    } else {
      line.otherwise = {0, std::string(kNowhere), {"chain " + iptables::name(id) + " has no rule for other clients"}};
    }
  }

  void add_masquerade_remarks(Remarks& remarks) const {
    if (!rules_.marks) add(remarks, "KUBE-MARK-MASQ marks no packets");
    if (!rules_.masquerades || !rules_.has_jump(Table::kNat, "POSTROUTING", kPostrouting)) {
      add(remarks, "KUBE-POSTROUTING masquerades no packets");
    }
  }

  void follow_internal(const ChainId& id, ServiceLine& line, Remarks& remarks) {
    Targets targets = balance(id);
    line.targets = std::move(targets.list);
    line.sticky_seconds = targets.seconds;
    const bool expects = facts_.masquerade_all || !facts_.local.not_local.empty();
    const BalancingChain* const chain = find_balancing(id);
    if (chain == nullptr || chain->choices.empty() || !expects) return;
    if (!chain->masquerades) {
      add(remarks, "clients outside of the cluster are not masqueraded");
    } else {
      add_masquerade_remarks(remarks);
    }
  }

  KernelRules::Chains<BalancingChain>& balancing(ChainKind kind) const {
    return kind == ChainKind::kLocal ? rules_.locals : rules_.clusters;
  }

  const KernelRules::ListedChain<BalancingChain>* find_balancing(const ChainId& id) const {
    const auto& chains = balancing(id.kind);
    const auto found = chains.find(id.hash);
    return found == chains.end() ? nullptr : &found->second;
  }

  Targets balance(const ChainId& id) {
    ServiceLine line;
    const BalancingChain* const chain = enter(id, balancing(id.kind), line);
    if (chain == nullptr) return {line.targets, 0};
    if (chain->choices.empty()) {
      nowhere(id, "leads to no endpoints", line);
      return {line.targets, 0};
    }
    Targets targets;
    double left = 1;  // the share of connections that earlier rules have not taken
    std::vector<Share> shares;
    std::unordered_map<netfilter::ShortHash, std::size_t, ServiceNames::HashOfHash> positions;
    for (const EndpointChoice& choice : chain->choices) {
      const auto [position, is_new] = positions.emplace(choice.endpoint, shares.size());
      if (is_new) shares.push_back({choice.endpoint});
      Share& share = shares[position->second];
      if (choice.seconds != 0) {
        share.seconds = choice.seconds;
        targets.seconds = std::max(targets.seconds, choice.seconds);
      } else {
        share.share += left * choice.probability;
        left -= left * choice.probability;
      }
    }
    const double fair = (1 - left) / static_cast<double>(shares.size());
    const bool uneven = std::any_of(shares.begin(), shares.end(),
                                    [&](const Share& one) { return std::abs(one.share - fair) > fair / 20; });
    for (const Share& one : shares) targets.list.list.push_back(endpoint(one, targets.seconds, uneven));
    if (left > 0.0001) add(targets.list.remarks, percent(left) + " reach no endpoint");
    return targets;
  }

  inspection::Target endpoint(const Share& share, std::uint32_t seconds, bool uneven) {
    const ChainId id{ChainKind::kEndpoint, share.endpoint};
    const auto found = rules_.endpoints.find(share.endpoint);
    if (found != rules_.endpoints.end()) found->second.reached = true;
    inspection::Target target;
    Remarks& remarks = target.remarks;
    if (found == rules_.endpoints.end()) {
      add(remarks, "chain is missing");
    } else if (found->second.rules == 0) {
      add(remarks, "chain is empty");
    } else if (!found->second.to) {
      add(remarks, "no DNAT rule");
    } else {
      const EndpointChain& there = found->second;
      target.address = there.to->address;
      target.port = there.to->port;
      if (share.seconds == 0 && seconds != 0) add(remarks, "not sticky");
      if (share.seconds != 0 && share.seconds != seconds) add(remarks, "for " + std::to_string(share.seconds) + " s");
      if (seconds != 0 && !there.remembers) add(remarks, "clients are not remembered");
      if (!there.masquerades_itself) add(remarks, "its own connections are not masqueraded");
    }
    if (uneven) add(remarks, percent(share.share));
    if (found == rules_.endpoints.end() || !found->second.to || found->second.rules == 0) {
      target.object = iptables::name(id);
    }
    return target;
  }

  template <class Content>
  void write_unreached(ChainKind kind, const KernelRules::Chains<Content>& chains) {
    std::vector<std::string> names;
    for (const auto& [hash, chain] : chains) {
      if (!chain.reached) names.push_back(iptables::name(ChainId{kind, hash}));
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) answer_.add_not_wanted("chain " + name + " (no rule leads to it)");
  }

  KernelRules& rules_;
  const ServiceNames& names_;
  const ServiceNames::ByHash by_hash_;
  const PlanFacts& facts_;
  inspection::Answer& answer_;
  // Load balancer addresses that lead to a KUBE-FW- chain.
  std::unordered_map<netfilter::ShortHash, std::vector<abi::Address>, ServiceNames::HashOfHash> balancers_;
};

}  // namespace

void inspect(KernelRules& rules, const ServiceNames& names, const PlanFacts& facts, inspection::Answer& answer) {
  Decoder(rules, names, facts, answer).write();
}

}  // namespace sluice::iptables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/rules/rule_plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/common/netfilter/masquerade_rules.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::ipvs {
namespace {

using netfilter::quoted_comment;
using netfilter::Table;

using names::kForward;
using names::kIpvsFilter;
using names::kLoadBalancerChain;
using names::kMarkMasquerade;
using names::kNodePort;  // in nat and in filter
using names::kPostrouting;
using names::kProxyFirewall;
using names::kServices;
using names::kSourceRanges;

struct NodePortSets {
  abi::Protocol protocol;
  SetId local;
  SetId plain;
  const char* match;  // bitmaps hold a port only
};
constexpr std::array<NodePortSets, 3> kNodePortSets = {
    {{abi::Protocol::kTcp, SetId::kNodePortLocalTcp, SetId::kNodePortTcp, "dst"},
     {abi::Protocol::kUdp, SetId::kNodePortLocalUdp, SetId::kNodePortUdp, "dst"},
     {abi::Protocol::kSctp, SetId::kNodePortLocalSctp, SetId::kNodePortSctp, "dst,dst"}}};

class RulePlanner {
 public:
  RulePlanner(const RuleFacts& facts, std::uint32_t filled, const std::set<ServerKey>& closed)
      : facts_(facts), filled_(filled), closed_(closed) {
    plan_.jumps = plan_jumps();
    for (const names::Chain& chain : kOwnedChains) plan_.chains.push_back({chain.table, std::string(chain.name), {}});
  }

  RulePlan make() {
    plan_services();
    plan_postrouting();
    plan_node_ports();
    plan_load_balancers();
    rules(Table::kNat, kMarkMasquerade) = netfilter::mark_masquerade_rules(facts_.mark);
    plan_handover();
    rules(Table::kFilter, kForward) = netfilter::forward_rules(facts_.mark);
    add(Table::kFilter, kNodePort, commented(SetId::kHealthCheckNodePort, "dst") + " -j ACCEPT");
    plan_source_ranges();
    plan_filter();
    plan_out_filter();
    return std::move(plan_);
  }

 private:
  std::vector<std::string>& rules(Table table, std::string_view chain) {
    return std::find_if(plan_.chains.begin(), plan_.chains.end(),
                        [&](const RuleChain& each) { return each.table == table && each.name == chain; })
        ->rules;
  }
  void add(Table table, std::string_view chain, std::string rule) { rules(table, chain).push_back(std::move(rule)); }

  bool has(SetId set) const { return (filled_ >> static_cast<unsigned>(set) & 1) != 0; }
  std::string match(SetId set, const char* directions) const {
    return "-m set --match-set " + set_name(set, facts_.family) + " " + directions;
  }
  std::string commented(SetId set, const char* directions) const {
    return quoted_comment(spec(set).comment) + " " + match(set, directions);
  }
  void add_if_filled(Table table, std::string_view chain, SetId set, const char* directions, std::string_view target) {
    if (has(set)) add(table, chain, commented(set, directions).append(" -j ").append(target));
  }

  void plan_services() {
    const auto service = [this](std::string rule) { add(Table::kNat, kServices, std::move(rule)); };
    // Node ports do not answer on loopback.
    service(facts_.family == abi::Family::kIpv6 ? "-s ::1/128 -j RETURN" : "-s 127.0.0.0/8 -j RETURN");
    add_if_filled(Table::kNat, kServices, SetId::kLoadBalancer, "dst,dst", kLoadBalancerChain);
    plan_cluster_masquerade();
    if (has(SetId::kExternalIp)) {
      add_if_filled(Table::kNat, kServices, SetId::kExternalIp, "dst,dst", kMarkMasquerade);
      plan_external(SetId::kExternalIp);
    }
    if (has(SetId::kExternalIpLocal)) plan_external(SetId::kExternalIpLocal);
    service(std::string("-m addrtype --dst-type LOCAL -j ").append(kNodePort));
    // Stop here, so that no other rule of table nat takes these packets from IPVS.
    for (const SetId set : {SetId::kClusterIp, SetId::kLoadBalancer}) {
      if (has(set)) service(match(set, "dst,dst") + " -j ACCEPT");
    }
  }

  void plan_cluster_masquerade() {
    if (!has(SetId::kClusterIp)) return;
    std::string rule;
    if (facts_.masquerade_all) {
      rule = commented(SetId::kClusterIp, "dst,dst");
    } else if (facts_.local.works()) {
      if (facts_.local.not_local.empty()) return;  // all packets are local
      rule = commented(SetId::kClusterIp, "dst,dst") + " " + facts_.local.not_local;
    } else {
      // A process of this node that connects to a service address has that address, which is bound here, as its
      // source.
      rule = commented(SetId::kClusterIp, "src,dst");
    }
    add(Table::kNat, kServices, rule.append(" -j ").append(kMarkMasquerade));
  }

  // From outside, and to addresses of this node: skip the rest of table nat.
  void plan_external(SetId set) {
    add(Table::kNat, kServices,
        commented(set, "dst,dst") + " -m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT");
    add(Table::kNat, kServices, commented(set, "dst,dst") + " -m addrtype --dst-type LOCAL -j ACCEPT");
  }

  void plan_postrouting() {
    // Hairpin: an endpoint that connects to itself would answer directly, past IPVS.
    add_if_filled(Table::kNat, kPostrouting, SetId::kLoopBack, "dst,dst,src", "MASQUERADE");
    for (std::string& rule : netfilter::postrouting_rules(facts_.mark, facts_.random_fully)) {
      add(Table::kNat, kPostrouting, std::move(rule));
    }
  }

  void plan_node_ports() {
    for (const NodePortSets& sets : kNodePortSets) {
      const std::string protocol = std::string("-p ").append(sdk::protocol_name(sets.protocol)).append(" ");
      for (const auto& [set, target] :
           {std::pair(sets.local, std::string_view("RETURN")), std::pair(sets.plain, kMarkMasquerade)}) {
        if (!has(set)) continue;
        add(Table::kNat, kNodePort, (protocol + commented(set, sets.match)).append(" -j ").append(target));
      }
    }
  }

  void plan_load_balancers() {
    add_if_filled(Table::kNat, kLoadBalancerChain, SetId::kLoadBalancerLocal, "dst,dst", "RETURN");
    add(Table::kNat, kLoadBalancerChain, std::string("-j ").append(kMarkMasquerade));
  }

  // A process of this node that connects to a bound address has that address as its source, also when another backend
  // translates the connection. That backend does not masquerade it, so the reply would not come back. DNAT excludes
  // connections through IPVS, which does not set that state and whose replies have such a source, too. Marked packets
  // are masqueraded by the rules that set the mark.
  void plan_handover() {
    const std::string mark = netfilter::mark_text(facts_.mark);
    add(Table::kNat, kHandoverChain,
        "-m conntrack --ctstate DNAT -m mark ! --mark " + mark + "/" + mark + " " + match(SetId::kIpvsAddresses, "src") +
            " -j MASQUERADE" +
            (facts_.random_fully ? " --random-fully" : ""));
  }

  void plan_source_ranges() {
    add_if_filled(Table::kFilter, kProxyFirewall, SetId::kLoadBalancerFirewall, "dst,dst", kSourceRanges);
    add_if_filled(Table::kFilter, kSourceRanges, SetId::kLoadBalancerSourceCidr, "dst,dst,src", "RETURN");
    add_if_filled(Table::kFilter, kSourceRanges, SetId::kLoadBalancerSourceIp, "dst,dst,src", "RETURN");
    add(Table::kFilter, kSourceRanges, "-j DROP");
  }

  // Service addresses are bound here, so programs that listen on all addresses would answer on them, too. These rules
  // do not depend on the contents of sets.
  void plan_filter() {
    for (const SetId set : {SetId::kLoadBalancer, SetId::kClusterIp, SetId::kExternalIp, SetId::kExternalIpLocal}) {
      add(Table::kFilter, kIpvsFilter, match(set, "dst,dst") + " -j RETURN");
    }
    add(Table::kFilter, kIpvsFilter, match(SetId::kHealthCheckNodePort, "dst") + " -j RETURN");
    add(Table::kFilter, kIpvsFilter,
        "-m conntrack --ctstate NEW " + match(SetId::kIpvsAddresses, "dst") + " -j REJECT");
  }

  void plan_out_filter() {
    for (const ServerKey& key : closed_) add(Table::kFilter, kOutFilterChain, out_filter_rule(key, facts_.family));
  }

  const RuleFacts& facts_;
  const std::uint32_t filled_;
  const std::set<ServerKey>& closed_;
  RulePlan plan_;
};

}  // namespace

RuleFacts rule_facts(abi::Family family, const abi::NodeFacts& node, bool random_fully) {
  return {family, node.masquerade_mark, (node.flags & abi::kMasqueradeAll) != 0, netfilter::local_match(family, node),
          random_fully};
}

RuleJump rule_jump(const names::Jump& jump) {
  std::string rule(jump.match);
  rule.append(rule.empty() ? "" : " ").append(quoted_comment(jump.comment)).append(" -j ").append(jump.to);
  return {jump.table, jump.from, std::move(rule)};
}

// Table nat first, as kube-proxy.
std::vector<RuleJump> plan_jumps() {
  constexpr auto kOurs = names::written_by<names::kIpvs, names::kJumps>();
  std::vector<RuleJump> jumps;
  for (const names::Jump& jump : kOurs) jumps.push_back(rule_jump(jump));
  std::stable_partition(jumps.begin(), jumps.end(), [](const RuleJump& jump) { return jump.table == Table::kNat; });
  return jumps;
}

RulePlan plan_rules(const RuleFacts& facts, std::uint32_t filled, const std::set<ServerKey>& closed) {
  return RulePlanner(facts, filled, closed).make();
}

// Matches connections of this node's processes after IPVS, where the source is still the service address.
std::string out_filter_rule(const ServerKey& closed, abi::Family family) {
  const std::string address = sdk::to_string(closed.address, family);
  return "-s " + address + " -m ipvs --vaddr " + address + " --vproto " +
         std::string(sdk::protocol_name(closed.protocol)) + " --vport " + std::to_string(closed.port) + " -j DROP";
}

bool is_owned(netfilter::Table table, std::string_view chain) {
  return std::any_of(kOwnedChains.begin(), kOwnedChains.end(),
                     [&](const names::Chain& owned) { return owned.table == table && owned.name == chain; });
}

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/static_plan.hpp"

#include <utility>

#include "names/jumps.hpp"
#include "plugins/common/netfilter/masquerade_rules.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::iptables {
namespace {

using netfilter::is_loopback;

std::string commented(std::string_view comment) { return netfilter::quoted_comment(comment); }

netfilter::ExactChain plan_forward(const abi::NodeFacts& node, std::string_view invalid_counter) {
  std::vector<std::string> rules = netfilter::forward_rules(node.masquerade_mark);
  // INVALID packets would pass untranslated and make the client reset the connection. With
  // nf_conntrack_tcp_be_liberal there are none.
  if ((node.flags & abi::kConntrackTcpLiberal) == 0) {
    std::string count;
    if (!invalid_counter.empty()) count.append("-m nfacct --nfacct-name ").append(invalid_counter).append(" ");
    rules.insert(rules.begin(), "-m conntrack --ctstate INVALID " + count + "-j DROP");
  }
  return {Table::kFilter, std::string(kForward), std::move(rules)};
}

}  // namespace

bool serves_localhost(abi::Family family, const abi::NodeFacts& node) noexcept {
  return family == abi::Family::kIpv4 && (node.flags & abi::kNodePortsOnLocalhost) != 0;
}

std::vector<Jump> plan_jumps() {
  constexpr auto kOurs = names::written_by<names::kIptables, names::kJumps>();
  std::vector<Jump> jumps;
  for (const names::Jump& jump : kOurs) {
    std::string text(jump.match);
    text.append(text.empty() ? "" : " ").append(commented(jump.comment)).append(" -j ").append(jump.to);
    jumps.push_back({jump.table, jump.from, std::move(text), true});
  }
  for (const std::string_view from : {"INPUT", "OUTPUT"}) {
    jumps.push_back({Table::kFilter, from, std::string("-j ").append(kFirewall), false});
  }
  return jumps;
}

std::vector<std::string> unusable_node_port_addresses(abi::Family family, const abi::NodeFacts& node) {
  std::vector<std::string> unusable;
  if ((node.flags & abi::kNodePortsMatchAll) != 0 || serves_localhost(family, node)) return unusable;
  for (const abi::Address& address : sdk::range<abi::Address>(node.node_port_addresses)) {
    if (is_loopback(family, address)) unusable.push_back(sdk::to_string(address, family));
  }
  return unusable;
}

std::vector<std::string> plan_tail(abi::Family family, const abi::NodeFacts& node) {
  const std::string comment =
      commented("kubernetes service nodeports; NOTE: this must be the last rule in this chain");
  const std::string target = std::string(" -j ").append(names::kNodePorts);
  if ((node.flags & abi::kNodePortsMatchAll) != 0) {
    std::string except;
    if (family == abi::Family::kIpv6) {
      except = " ! -d ::1/128";
    } else if (!serves_localhost(family, node)) {
      except = " ! -d 127.0.0.0/8";
    }
    return {comment + " -m addrtype --dst-type LOCAL" + except + target};
  }
  std::vector<std::string> tail;
  for (const abi::Address& address : sdk::range<abi::Address>(node.node_port_addresses)) {
    if (is_loopback(family, address) && !serves_localhost(family, node)) continue;
    tail.push_back(comment + " -d " + sdk::to_string(address, family) + target);
  }
  return tail;
}

StaticPlan plan_static(abi::Family family, const abi::NodeFacts& node, bool random_fully,
                       std::string_view invalid_counter) {
  StaticPlan plan;
  plan.jumps = plan_jumps();
  plan.chains.push_back(plan_forward(node, invalid_counter));
  plan.chains.push_back(
      {Table::kNat, std::string(kPostrouting), netfilter::postrouting_rules(node.masquerade_mark, random_fully)});
  plan.chains.push_back(
      {Table::kNat, std::string(kMarkMasquerade), netfilter::mark_masquerade_rules(node.masquerade_mark)});
  plan.tail = plan_tail(family, node);
  if (serves_localhost(family, node)) {
    // route_localnet lets neighbours reach processes that listen on loopback only. This rule blocks
    // such packets, except replies and translated node port traffic.
    plan.firewall_rule = commented("block incoming localnet connections") +
                         " -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP";
  }
  return plan;
}

}  // namespace sluice::iptables

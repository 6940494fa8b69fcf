// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "names/jumps.hpp"
#include "plugins/common/netfilter/local_match.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/userspace/portal/portal_plan.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

using netfilter::quoted_comment;

constexpr auto kPortalJumps = names::written_by<names::kUserspace, names::kJumps>();

// The matches of the jumps to the node port chains: which addresses serve node ports.
std::vector<std::string> node_port_matches(const PortalFacts& facts) {
  if (facts.node_ports_match_all) {
    std::string match(names::kToThisNode);
    if (facts.family == abi::Family::kIpv6) {
      match += " ! -d ::1/128";
    } else if (!facts.node_ports_on_localhost) {
      match += " ! -d 127.0.0.0/8";
    }
    return {match};
  }
  std::vector<std::string> matches;
  for (const abi::Address& address : facts.node_port_addresses) {
    if (netfilter::is_loopback(facts.family, address) && !facts.node_ports_on_localhost) continue;
    matches.push_back("-d " + sdk::to_string(address, facts.family) +
                      (facts.family == abi::Family::kIpv6 ? "/128" : "/32"));
  }
  return matches;
}

}  // namespace

PortalFacts portal_facts(abi::Family family, const std::optional<abi::Address>& listen_address,
                         const abi::NodeFacts& node) {
  PortalFacts facts;
  facts.family = family;
  facts.listen_address = listen_address;
  facts.node_ip = node.node_ip;
  for (const abi::Address& address : sdk::range<abi::Address>(node.local_addresses)) {
    if (address == node.node_ip) facts.host_address = node.node_ip;
  }
  facts.node_ports_match_all = (node.flags & abi::kNodePortsMatchAll) != 0;
  facts.node_ports_on_localhost = family == abi::Family::kIpv4 && (node.flags & abi::kNodePortsOnLocalhost) != 0;
  for (const abi::Address& address : sdk::range<abi::Address>(node.node_port_addresses)) {
    facts.node_port_addresses.push_back(address);
  }
  facts.detector = node.detector;
  if (node.detector == abi::LocalDetectorKind::kCidr) facts.detector_cidr = node.detector_cidr;
  facts.from_pods = netfilter::local_match(family, node).is_local;
  facts.relay_mark = netfilter::relay_mark(node.masquerade_mark);
  return facts;
}

std::vector<std::string> unusable_node_port_addresses(const PortalFacts& facts) {
  std::vector<std::string> unusable;
  if (facts.node_ports_match_all || facts.node_ports_on_localhost) return unusable;
  for (const abi::Address& address : facts.node_port_addresses) {
    if (netfilter::is_loopback(facts.family, address)) unusable.push_back(sdk::to_string(address, facts.family));
  }
  return unusable;
}

std::vector<FixedRule> fixed_rules(const PortalFacts& facts) {
  std::vector<FixedRule> rules;
  // Packets of the relay go to the endpoint, even if address and port are also those of a Service: any Service may have
  // the address of an endpoint as its external IP.
  const auto is_appended = [](const names::Jump& jump) { return (jump.more_matches & names::kAtNodeAddresses) != 0; };
  const auto add = [&](const names::Jump& jump, std::string_view match) {
    std::string rule(match);
    if ((jump.more_matches & names::kNotRelayed) != 0) {
      rule.append(match.empty() ? "" : " ").append(netfilter::not_relayed_match(facts.relay_mark));
    }
    rule.append(rule.empty() ? "" : " ").append(quoted_comment(jump.comment)).append(" -j ").append(jump.to);
    rules.push_back({{jump.table, std::string(jump.from), std::move(rule)}, !is_appended(jump)});
  };
  for (const names::Jump& jump : kPortalJumps) {
    if (!is_appended(jump)) add(jump, jump.match);
  }
  for (const std::string& match : node_port_matches(facts)) {
    for (const names::Jump& jump : kPortalJumps) {
      if (is_appended(jump)) add(jump, match);
    }
  }
  return rules;
}

bool is_jump_comment(std::string_view comment) {
  return std::any_of(kPortalJumps.begin(), kPortalJumps.end(),
                     [&](const names::Jump& jump) { return jump.comment == comment; });
}

}  // namespace sluice::userspace

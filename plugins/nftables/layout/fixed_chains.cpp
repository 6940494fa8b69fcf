// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The chains of every node (BEH 7.2).

#include <linux/netfilter.h>

#include <utility>

#include "plugins/nftables/layout/pieces.hpp"

namespace sluice::nftables {
namespace {

constexpr std::int32_t kBeforeTranslation = -110;
constexpr std::int32_t kDestinationNat = -100;
constexpr std::int32_t kFilter = 0;
constexpr std::int32_t kSourceNat = 100;
// After the forward chains of other programs: a packet that one of them drops must not offload its flow.
constexpr std::int32_t kAfterFilters = 1000;

using FieldKind = Field::Kind;

class Builder {
 public:
  explicit Builder(const LayoutFacts& facts) : facts_(facts) {}

  std::vector<ChainSpec> make();

 private:
  RuleBuilder rule() const { return RuleBuilder(facts_.family); }
  ChainSpec& chain(const char* name) {
    chains_.emplace_back();
    chains_.back().name = name;
    return chains_.back();
  }
  std::vector<Rule>& base(const char* name, const char* type, std::uint32_t hook, std::int32_t priority) {
    ChainSpec& spec = chain(name);
    spec.is_base = true;
    spec.hook = {type, hook, priority};
    return spec.rules;
  }
  Rule jump(const char* chain) const { return rule().jump(chain).make(); }
  // Before translation. A rule of the base chain itself: every new connection of the node passes it.
  Rule check_firewall() const {
    return rule().is_new().set_priority_from(kFrontendFields, "firewalled-services").goto_by_priority("firewall-chains").make();
  }
  RuleBuilder to_node_ports(bool arrived) const;
  // In chains of the filter hooks, where what follows is for new connections only: one comparison for all other packets.
  Rule leave_unless_new() const { return rule().is_not_new().back().make(); }
  // What follows is for packets that still have the address of a Service. The priority was used to choose an endpoint.
  Rule leave_translated() const { return rule().is_translated().set_priority(0).back().make(kTranslatedComment); }

  void add_services();
  void add_checks();
  void add_masquerading();
  void add_counting();
  void add_offload();
  void add_base_chains();

  static constexpr const char* kTranslatedComment = "an endpoint was chosen, by way of the priority";

  const LayoutFacts& facts_;
  std::vector<ChainSpec> chains_;
};

// `arrived`: in the input hook, where all packets are for this node.
RuleBuilder Builder::to_node_ports(bool arrived) const {
  RuleBuilder built(facts_.family);
  if (facts_.node_ports_match_all) {
    if (!arrived) built.to_this_node();
    built.not_to_loopback();
  } else {
    built.in({{FieldKind::kDestination}}, "nodeport-ips");
  }
  return built;
}

void Builder::add_services() {
  auto& rules = chain("services").rules;
  if (facts_.masquerade_all) {
    rules.push_back(rule()
                        .in({{FieldKind::kDestination}}, "cluster-ips")
                        .set_mark(facts_.masquerade_mark)
                        .make("masquerade all clusterIP traffic"));
  } else if (can_match_other_sources(facts_)) {
    // The source first: packets of pods then need no look-up.
    RuleBuilder outside(facts_.family);
    match_local(outside, facts_, /*inverted=*/true);
    outside.in({{FieldKind::kDestination}}, "cluster-ips").set_mark(facts_.masquerade_mark);
    rules.push_back(outside.make("masquerade clusterIP traffic from outside cluster"));
  }
  // The priority of the packet carries the class number from the first map to the second.
  rules.push_back(rule().set_priority_from(kFrontendFields, "service-treatments").goto_by_priority("service-chains").make());
  rules.push_back(to_node_ports(/*arrived=*/false)
                      .set_priority_from(kNodePortFields, "nodeport-treatments")
                      .goto_by_priority("service-chains")
                      .make());
}

void Builder::add_checks() {
  chain("service-endpoints-check").rules = {
      rule().in(kFrontendFields, "dropped-services").drop().make(),
      rule().in(kFrontendFields, "rejected-services").reject().make(),
  };
  chain("nodeport-endpoints-check").rules = {
      to_node_ports(/*arrived=*/true).in(kNodePortFields, "dropped-nodeports").drop().make(),
      to_node_ports(/*arrived=*/true).in(kNodePortFields, "rejected-nodeports").reject().make(),
  };
  auto& cluster_ips = chain(kClusterIpsCheck).rules;
  cluster_ips.push_back(
      rule().in({{FieldKind::kDestination}}, "cluster-ips").reject().make("Reject traffic to invalid ports of ClusterIPs"));
  for (const auto& cidr : facts_.service_cidrs) {
    cluster_ips.push_back(rule().to(cidr).drop().make("Drop traffic to unallocated ClusterIPs"));
  }
}

void Builder::add_masquerading() {
  chain("masquerading").rules = {
      rule().is_marked(facts_.masquerade_mark).flip_mark(facts_.masquerade_mark).masquerade().make(),
      rule()
          .is_translated()
          .in({{FieldKind::kSource}, {FieldKind::kDestination}, {FieldKind::kProtocol}, {FieldKind::kPort}}, "hairpin-connections")
          .masquerade()
          .make(),
  };
}

// nft knows the type of the original port only after a protocol match, hence a rule for each protocol. Addresses of
// Services come before node ports, as in `services`.
void Builder::add_counting() {
  auto& rules = chain("count-traffic").rules;
  for (const auto protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp, abi::Protocol::kSctp}) {
    rules.push_back(rule()
                        .is_protocol(protocol)
                        .in({{FieldKind::kOriginalDestination}, {FieldKind::kProtocol}, {FieldKind::kOriginalPort}}, "service-traffic")
                        .back()
                        .make());
    rules.push_back(
        rule().is_protocol(protocol).in({{FieldKind::kProtocol}, {FieldKind::kOriginalPort}}, "nodeport-traffic").back().make());
  }
}

// The kernel offloads no SCTP. Hence a rule for TCP and UDP each, with the original port as in count-traffic.
void Builder::add_offload() {
  auto& rules = chain(kOffloadChain).rules;
  for (const auto protocol : {abi::Protocol::kTcp, abi::Protocol::kUdp}) {
    rules.push_back(rule()
                        .is_protocol(protocol)
                        .in({{FieldKind::kOriginalDestination}, {FieldKind::kProtocol}, {FieldKind::kOriginalPort}}, "service-traffic")
                        .offload(kFlowtableName)
                        .make());
    RuleBuilder to_node_port = rule();
    to_node_port.is_protocol(protocol);
    if (!facts_.node_ports_match_all) to_node_port.in({{FieldKind::kOriginalDestination}}, "nodeport-ips");
    to_node_port.in({{FieldKind::kProtocol}, {FieldKind::kOriginalPort}}, "nodeport-traffic").offload(kFlowtableName);
    rules.push_back(to_node_port.make());
  }
}

void Builder::add_base_chains() {
  base("filter-prerouting-pre-dnat", "filter", NF_INET_PRE_ROUTING, kBeforeTranslation) = {check_firewall()};
  base("filter-output-pre-dnat", "filter", NF_INET_LOCAL_OUT, kBeforeTranslation) = {check_firewall()};

  auto& input = base("filter-input", "filter", NF_INET_LOCAL_IN, kFilter);
  input = {leave_unless_new(), rule().is_translated().back().make(), jump("nodeport-endpoints-check"),
           jump("service-endpoints-check")};
  auto& forward = base("filter-forward", "filter", NF_INET_FORWARD, kFilter);
  forward = {leave_unless_new(), leave_translated(), jump("service-endpoints-check"), jump(kClusterIpsCheck)};
  auto& output = base("filter-output", "filter", NF_INET_LOCAL_OUT, kFilter);
  output = {leave_unless_new(), leave_translated(), jump("service-endpoints-check"), jump(kClusterIpsCheck)};

  base("nat-prerouting", "nat", NF_INET_PRE_ROUTING, kDestinationNat) = {jump("services")};
  base("nat-output", "nat", NF_INET_LOCAL_OUT, kDestinationNat) = {jump("services")};
  base("nat-postrouting", "nat", NF_INET_POST_ROUTING, kSourceNat) = {jump("masquerading")};
}

std::vector<ChainSpec> Builder::make() {
  for (const bool node_port : {false, true}) {
    for (const bool local : {false, true}) chains_.push_back(slot_chain(facts_.family, node_port, local));
  }
  add_services();
  add_checks();
  add_masquerading();
  if (facts_.counters) add_counting();
  if (facts_.offload) add_offload();
  add_base_chains();
  if (facts_.offload) {
    base("filter-forward-offload", "filter", NF_INET_FORWARD, kAfterFilters) = {
        rule().is_established().is_translated().jump(kOffloadChain).make()};
  }
  if (facts_.counters) {
    // Count each packet once: a packet sent through lo comes in again. Before the rule that most packets leave at.
    for (auto& spec : chains_) {
      auto& rules = spec.rules;
      if (spec.name == "filter-forward" || spec.name == "filter-output") {
        rules.insert(rules.begin(), rule().is_translated().jump("count-traffic").make());
      } else if (spec.name == "filter-input") {
        rules.insert(rules.begin(), rule().through("lo", false, true).is_translated().jump("count-traffic").make());
      }
    }
  }
  return std::move(chains_);
}

}  // namespace

std::vector<ChainSpec> fixed_chains(const LayoutFacts& facts) { return Builder(facts).make(); }

}  // namespace sluice::nftables

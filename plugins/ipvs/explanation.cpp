// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/explanation.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "plugins/ipvs/frontend_sets.hpp"
#include "plugins/ipvs/packet_walk.hpp"
#include "plugins/ipvs/rules/rule_comparison.hpp"
#include "plugins/ipvs/rules/rule_drift.hpp"

namespace sluice::ipvs {
namespace {

using abi::InspectedVerdict;
using netfilter::Table;
using Step = inspection::Explanation::Step;

struct RuleEffect {
  std::string_view target;
  std::string_view chain;  // empty: any
  std::string_view effect;
};
constexpr std::string_view kPolicyLocal = "leaves the packet unmarked: the external traffic policy is Local";
constexpr std::array kEffects{
    RuleEffect{"ACCEPT", names::kServices, "ends table nat: no later rule changes the destination"},
    RuleEffect{"ACCEPT", names::kNodePort, "accepts the packet: it is a health check"},
    RuleEffect{"ACCEPT", "", "accepts the packet"},
    RuleEffect{"DROP", names::kSourceRanges, "drops the packet: its source is in no source range"},
    RuleEffect{"DROP", names::kIpvsOutFilter, "drops the packet: no source range contains this node"},
    RuleEffect{"DROP", "", "drops the packet"},
    RuleEffect{"REJECT", names::kIpvsFilter, "rejects the packet: no Service has this address and port"},
    RuleEffect{"REJECT", "", "rejects the packet"},
    RuleEffect{"RETURN", names::kIpvsFilter, "passes the packet: a Service has this address and port"},
    RuleEffect{"RETURN", names::kSourceRanges, "passes the packet: its source is in a source range"},
    RuleEffect{"RETURN", names::kLoadBalancerChain, kPolicyLocal},
    RuleEffect{"RETURN", names::kNodePort, kPolicyLocal},
    RuleEffect{"RETURN", names::kServices, "leaves the packet unmarked: its source is a loopback address"},
    RuleEffect{"RETURN", "", "ends its chain"},
};

std::string effect_of(const RuleHit& hit) {
  if (hit.marks) return "marks the packet for masquerading";
  const auto found = std::find_if(kEffects.begin(), kEffects.end(), [&](const RuleEffect& one) {
    return one.target == hit.target && (one.chain.empty() || one.chain == hit.chain);
  });
  return found == kEffects.end() ? "jumps to chain " + hit.target : std::string(found->effect);
}

class Explainer {
 public:
  Explainer(const KernelState& kernel, const std::set<abi::Address>& local, const Wanted& wanted,
            const PlanFacts& facts, const RuleFacts& rule_facts, inspection::Explanation& explanation)
      : kernel_(kernel),
        wanted_(wanted),
        family_(explanation.packet().family),
        from_node_(explanation.packet().of_node),
        unbound_(from_node_ && explanation.packet().client == facts.node_ip),
        walk_(kernel, local, family_),
        rules_(kernel.rules, rule_facts, wanted.closed()),
        explanation_(explanation),
        key_{explanation.packet().address, explanation.packet().port, explanation.packet().protocol} {
    const inspection::Packet& packet = explanation.packet();
    packet_.source = packet.client;
    packet_.destination = packet.address;
    packet_.port = packet.port;
    packet_.protocol = packet.protocol;
    packet_.of_pod = packet.of_pod;
  }

  void run() {
    decide();
    for (std::string& remark : remarks()) inspection::add(steps_.back().remarks, std::move(remark));
    for (Step& step : steps_) explanation_.add(std::move(step));
  }

 private:
  // Adds steps up to the verdict.
  void decide() {
    const bool local = walk_.is_local(key_.address);
    if (local && unbound_) {
      packet_.source = key_.address;
      steps_.push_back({.object = address_text(), .effect = "is the source of what this node sends to it"});
    }
    pass(Table::kNat, from_node_ ? "OUTPUT" : "PREROUTING");
    if (local && !from_node_) {
      steps_.push_back({.object = address_text(), .effect = "leads the packet to this node, where IPVS receives it"});
    }
    // Packets of this node reach IPVS before table filter.
    if (!from_node_ && pass(Table::kFilter, local ? "INPUT" : "FORWARD")) return;
    const auto server = std::find_if(kernel_.servers.begin(), kernel_.servers.end(),
                                     [&](const VirtualServer& one) { return one.key == key_; });
    if (server != kernel_.servers.end() && (local || from_node_)) return balance(*server);
    if (from_node_ && (pass(Table::kFilter, "OUTPUT") || (local && pass(Table::kFilter, "INPUT")))) return;
    not_proxied(local, server != kernel_.servers.end());
  }

  std::string address_text() const {
    return "address " + sdk::to_string(key_.address, family_) + " of " +
           (kernel_.addresses.contains(key_.address) ? kLinkName : "this node");
  }

  // Walks a built-in chain. True: the packet was dropped or rejected.
  bool pass(Table table, std::string_view chain) {
    std::vector<RuleHit> hits;
    const PacketWalk::Fate fate = walk_.walk(table, chain, packet_, hits);
    for (const RuleHit& hit : hits) {
      if (hit.marks) mark_ = steps_.size();
      steps_.push_back({.object = "rule " + printed_rule(hit.table, hit.chain, hit.rule), .effect = effect_of(hit)});
    }
    if (fate == PacketWalk::Fate::kDropped) steps_.back().verdict = InspectedVerdict::kDropped;
    if (fate == PacketWalk::Fate::kRejected) steps_.back().verdict = InspectedVerdict::kRejected;
    return fate == PacketWalk::Fate::kDropped || fate == PacketWalk::Fate::kRejected;
  }

  void not_proxied(bool local, bool has_server) {
    const std::string where = local ? "a program of this node receives the packet, if one listens there"
                                    : "the packet continues to its destination";
    const std::string why = has_server ? "does not receive packets to an address of another host: "
                                       : "has no virtual server for " + to_string(key_, family_) + ": ";
    steps_.push_back({.object = "IPVS", .effect = why + where, .verdict = InspectedVerdict::kNotProxied});
  }

  void balance(const VirtualServerState& server) {
    Step step{.object = "virtual server " + to_string(server.key, family_)};
    step.counted = server.counters.known;
    step.packets = server.counters.packets;
    step.bytes = server.counters.bytes;
    std::size_t serving = 0;
    for (const RealServerState& real : kernel_.real_servers(server.key)) {
      step.targets.push_back(target(real));
      serving += real.weight != 0 ? 1 : 0;
    }
    std::sort(step.targets.begin(), step.targets.end(), [](const inspection::Target& a, const inspection::Target& b) {
      return std::pair(a.address, a.port) < std::pair(b.address, b.port);
    });
    if (serving == 0) {
      step.effect = step.targets.empty() ? "rejects the packet: it has no endpoints"
                                         : "rejects the packet: all its endpoints drain";
      step.verdict = InspectedVerdict::kRejected;
      steps_.push_back(std::move(step));
      return;
    }
    step.effect = choice(server, serving);
    const std::size_t at = steps_.size();
    steps_.push_back(std::move(step));
    packet_.server = server.key;
    if (pass(Table::kFilter, "OUTPUT")) {
      steps_[at].targets.clear();
      return;
    }
    // Nothing after the choice decides anything but masquerading.
    steps_.resize(at + 1);
    steps_[at].verdict = InspectedVerdict::kServed;
    masquerade(steps_[at]);
  }

  inspection::Target target(const RealServerState& real) const {
    inspection::Target made{real.server.address, real.server.port};
    made.draining = real.weight == 0;
    if (real.weight == 0) inspection::add(made.remarks, "weight 0: receives no new connections");
    if (real.weight != 0 && real.weight != 1) inspection::add(made.remarks, "weight " + std::to_string(real.weight));
    if (!real.masquerades) inspection::add(made.remarks, "its forwarding method is not NAT");
    return made;
  }

  static std::string choice(const VirtualServer& server, std::size_t serving) {
    std::string text = serving == 1 ? "sends the packet to its only endpoint"
                                    : "chooses one of " + std::to_string(serving) + " endpoints with scheduler " +
                                          server.scheduler;
    if ((server.flags & kPersistent) == 0) return text;
    return text + ", the same one for each connection of this client within " +
           std::to_string(server.persistence_seconds) + " s";
  }

  // The rules after the choice. They may differ by endpoint: one that reaches itself is masqueraded.
  void masquerade(Step& chosen) {
    bool masqueraded = false;
    const TracedPacket before = packet_;
    for (inspection::Target& each : chosen.targets) {
      packet_ = before;
      packet_.destination = each.address;
      packet_.port = each.port;
      std::vector<RuleHit> unused;
      const bool is = walk_.walk(Table::kNat, "POSTROUTING", packet_, unused) == PacketWalk::Fate::kMasqueraded;
      const bool itself = is && !before.marked && each.address == before.source;
      if (itself) inspection::add(each.remarks, "masqueraded: the client reaches itself");
      masqueraded = masqueraded || (is && !itself);
    }
    packet_ = before;
    (mark_ ? steps_[*mark_] : chosen).masquerades = masqueraded;
    if (mark_ && !masqueraded) inspection::add(chosen.remarks, "the packet is marked, but not masqueraded");
    if (!mark_ && masqueraded) inspection::add(chosen.remarks, "the packet is masqueraded without a mark");
  }

  // What is missing, and what a reader may not expect.
  inspection::Remarks remarks() {
    inspection::Remarks found;
    const PortId* const owner = wanted_.owner(key_);
    if (owner != nullptr) add_missing(*owner, found);
    for (std::string& rule : walk_.missing_rules(rules_)) found.push_back(std::move(rule));
    return found;
  }

  void add_missing(const PortId& owner, inspection::Remarks& found) const {
    const bool node_port = wanted_.is_node_port(key_);
    for (const SetItem& item : items_of(key_, node_port)) {
      const bool has = kernel_.sets[static_cast<std::size_t>(item.set)].contains(item.entry);
      if (wanted_.wants(item) && !has) inspection::add(found, "no entry in " + set_name(item.set, family_));
    }
    if (wanted_.wants(key_.address) && !kernel_.addresses.contains(key_.address)) {
      inspection::add(found, std::string("not an address of ") + kLinkName);
    }
    const auto is_it = [&](const VirtualServer& one) { return one.key == key_; };
    if (std::none_of(kernel_.servers.begin(), kernel_.servers.end(), is_it)) {
      return inspection::add(found, "no virtual server for " + owner.first);
    }
    const ServicePlan& plan = *wanted_.find(owner);
    const bool cluster_ip = wanted_.wants(SetItem{SetId::kClusterIp, entry_of(key_)});
    if (cluster_ip ? plan.internal_without_local_endpoints : plan.external_without_local_endpoints) {
      const bool served = steps_.back().verdict == InspectedVerdict::kServed;
      inspection::add(found, std::string("the traffic policy is Local, but this node has no endpoint") +
                                 (served ? ": those of other nodes serve" : ""));
    }
  }

  const KernelState& kernel_;
  const Wanted& wanted_;
  const abi::Family family_;
  const bool from_node_;
  const bool unbound_;  // the kernel chooses the source
  PacketWalk walk_;
  const RuleComparison rules_;
  inspection::Explanation& explanation_;
  const ServerKey key_;
  TracedPacket packet_;
  std::vector<Step> steps_;
  std::optional<std::size_t> mark_;  // the step that marks the packet
};

}  // namespace

void explain(const KernelState& kernel, const std::set<abi::Address>& local, const Wanted& wanted,
             const PlanFacts& facts, const RuleFacts& rule_facts, inspection::Explanation& explanation) {
  Explainer(kernel, local, wanted, facts, rule_facts, explanation).run();
}

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::iptables {
namespace {

constexpr std::string_view kDrop = "DROP";
constexpr std::size_t kMaxName = 191;  // so that the longest comment fits into the 256 bytes of xt_comment

// The reason and the target for traffic that is refused.
struct Refusal {
  std::string comment;  // with quotes
  std::string_view target;
};

class ServicePlanner {
 public:
  ServicePlanner(const abi::ServicePort& port, const PlanFacts& facts, const PlanChoices& choices)
      : port_(port), facts_(facts), choices_(choices), name_(sdk::service_port_name(port.key)),
        protocol_(sdk::protocol_name(port.key.protocol)) {
    netfilter::check_key(port.key, name_, "its name is not a Kubernetes name and cannot be written into a rule",
                         kMaxName);
    input_ = hash_input(name_, protocol_);
    match_ = std::string("-m ").append(protocol_).append(" -p ").append(protocol_);
    read_endpoints();
    read_frontends();
  }

  ServicePlan make() {
    const netfilter::ShortHash hash = netfilter::base32_hash(input_);
    if (uses_firewall_) firewall_ = add_chain({ChainKind::kFirewall, hash});
    if (uses_external_) external_ = add_chain({ChainKind::kExternal, hash});
    if (!cluster_.empty()) cluster_chain_ = add_chain({ChainKind::kCluster, hash});
    if (!local_.empty()) local_chain_ = add_chain({ChainKind::kLocal, hash});
    for (Reachable& endpoint : reachable_) {
      endpoint.chain = add_chain({ChainKind::kEndpoint, netfilter::base32_hash(input_ + endpoint.host_port)});
    }
    write_dispatch();
    write_masquerade();
    write_external();
    write_firewall();
    if (cluster_chain_) write_balancing(*cluster_chain_, cluster_);
    if (local_chain_) write_balancing(*local_chain_, local_);
    write_endpoints();
    return std::move(plan_);
  }

 private:
  struct Reachable {
    std::string host_port;
    std::string host;
    std::uint32_t chain = 0;
  };

  void read_endpoints() {
    const bool uses_cluster = sdk::has(port_, abi::kUsesClusterEndpoints);
    const bool uses_local = sdk::has(port_, abi::kUsesLocalEndpoints);
    for (const abi::Endpoint& endpoint : sdk::endpoints(port_)) {
      const bool in_cluster = uses_cluster && sdk::has(endpoint, abi::kEndpointInCluster);
      const bool in_local = uses_local && sdk::has(endpoint, abi::kEndpointInLocal);
      if (!in_cluster && !in_local) continue;
      Reachable reached{sdk::host_port(endpoint.address, facts_.family, endpoint.port),
                        sdk::to_string(endpoint.address, facts_.family)};
      if (!reachable_.empty() && reachable_.back().host_port == reached.host_port) continue;
      if (in_cluster) cluster_.push_back(reachable_.size());
      if (in_local) local_.push_back(reachable_.size());
      reachable_.push_back(std::move(reached));
    }
    const bool internal_local = sdk::has(port_, abi::kInternalPolicyLocal);
    external_local_ = sdk::has(port_, abi::kExternalPolicyLocal);
    has_any_ = sdk::has(port_, abi::kHasAnyEndpoint) || !reachable_.empty();
    internal_refusal_ = refusal(internal_local, internal_local ? local_ : cluster_);
    external_refusal_ = refusal(external_local_, external_local_ ? local_ : cluster_);
    internal_over_local_ = internal_local;
    plan_.endpoints = static_cast<std::uint32_t>(port_.endpoints.count);
    plan_.internal_without_local_endpoints = internal_refusal_ && internal_refusal_->target == kDrop;
    plan_.external_without_local_endpoints = external_refusal_ && external_refusal_->target == kDrop;
  }

  // REJECT: there are no endpoints. DROP: there are endpoints, but not on this node.
  std::optional<Refusal> refusal(bool local_policy, const std::vector<std::size_t>& endpoints) const {
    if (!endpoints.empty()) return std::nullopt;
    if (has_any_ && local_policy) return Refusal{quoted(name_ + " has no local endpoints"), kDrop};
    return Refusal{quoted(name_ + " has no endpoints"), "REJECT"};
  }

  void read_frontends() {
    bool has_vip = false;
    bool external = false;
    for (const abi::Frontend& frontend : sdk::frontends(port_)) {
      has_vip = has_vip || frontend.kind == abi::FrontendKind::kLoadBalancer;
      external = external || (frontend.kind != abi::FrontendKind::kClusterIp && sdk::is_known(frontend.kind));
    }
    uses_external_ = has_any_ && external;
    uses_firewall_ = has_any_ && has_vip && !sdk::source_ranges(port_).empty();
  }

  static std::string quoted(const std::string& comment) { return netfilter::quoted_comment(comment); }
  std::string endpoint_comment(const std::string& comment) const {
    return choices_.endpoint_comments ? "-m comment --comment " + comment + " " : std::string();
  }

  std::string to_address(const abi::Frontend& frontend) const {
    return match_ + " -d " + sdk::to_string(frontend.address, facts_.family) + " --dport " +
           std::to_string(frontend.port);
  }

  std::uint32_t add_chain(const ChainId& chain) {
    plan_.chains.push_back(chain);
    return static_cast<std::uint32_t>(plan_.chains.size() - 1);
  }
  void add(SharedChain chain, std::string text) {
    plan_.rules.push_back({PlannedRule::kShared, chain, std::move(text)});
  }
  void add(std::uint32_t chain, std::string text) { plan_.rules.push_back({chain, {}, std::move(text)}); }
  std::string jump(std::uint32_t chain) const { return " -j " + name(plan_.chains[chain]); }
  std::string jump_external() const { return jump(*external_); }

  void write_dispatch() {
    for (const abi::Frontend& frontend : sdk::frontends(port_)) {
      switch (frontend.kind) {
        case abi::FrontendKind::kClusterIp: write_cluster_ip(frontend); break;
        case abi::FrontendKind::kExternalIp: write_external_ip(frontend); break;
        case abi::FrontendKind::kLoadBalancer: write_load_balancer(frontend); break;
        case abi::FrontendKind::kNodePort: write_node_port(frontend); break;
      }
    }
    if (port_.health_check_node_port != 0) {
      add(SharedChain::kFilterNodePorts, quoted(name_ + " health check node port") + " -m tcp -p tcp --dport " +
                                             std::to_string(port_.health_check_node_port) + " -j ACCEPT");
    }
  }

  void write_refusal(SharedChain chain, const Refusal& why, const std::string& match) {
    add(chain, why.comment + " " + match + " -j " + std::string(why.target));
  }

  void write_cluster_ip(const abi::Frontend& frontend) {
    if (internal_refusal_) {
      write_refusal(SharedChain::kFilterServices, *internal_refusal_, to_address(frontend));
      return;
    }
    cluster_match_ = quoted(name_ + " cluster IP") + " " + to_address(frontend);
    add(SharedChain::kNatServices, cluster_match_ + jump(internal_over_local_ ? *local_chain_ : *cluster_chain_));
  }

  void write_external_ip(const abi::Frontend& frontend) {
    if (external_) {
      add(SharedChain::kNatServices, quoted(name_ + " external IP") + " " + to_address(frontend) + jump_external());
    }
    if (external_refusal_) write_refusal(SharedChain::kFilterExternal, *external_refusal_, to_address(frontend));
  }

  void write_load_balancer(const abi::Frontend& frontend) {
    if (external_) {
      add(SharedChain::kNatServices, quoted(name_ + " loadbalancer IP") + " " + to_address(frontend) +
                                         jump(firewall_ ? *firewall_ : *external_));
    }
    if (firewall_) {
      add(SharedChain::kFilterFirewall,
          quoted(name_ + " traffic not accepted by " + name(plan_.chains[*firewall_])) + " " + to_address(frontend) +
              " -j DROP");
    }
    if (external_refusal_) write_refusal(SharedChain::kFilterExternal, *external_refusal_, to_address(frontend));
  }

  void write_node_port(const abi::Frontend& frontend) {
    const std::string to_port = match_ + " --dport " + std::to_string(frontend.port);
    const std::string comment = "-m comment --comment " + name_ + " ";
    if (external_ && !choices_.localhost_counter.empty() && facts_.family == abi::Family::kIpv4) {
      add(SharedChain::kNatNodePorts,
          comment + match_ + " -d 127.0.0.0/8 --dport " + std::to_string(frontend.port) +
              " -m nfacct --nfacct-name " + std::string(choices_.localhost_counter) + jump_external());
      plan_.rules.back().before_next = true;
    }
    if (external_) add(SharedChain::kNatNodePorts, comment + to_port + jump_external());
    if (external_refusal_) {
      write_refusal(SharedChain::kFilterExternal, *external_refusal_, "-m addrtype --dst-type LOCAL " + to_port);
    }
  }

  // First in the chain of internal traffic: which clients of the cluster address are masqueraded.
  void write_masquerade() {
    if (internal_refusal_ || cluster_match_.empty()) return;
    const std::uint32_t chain = internal_over_local_ ? *local_chain_ : *cluster_chain_;
    if (facts_.masquerade_all) {
      add(chain, cluster_match_ + " -j KUBE-MARK-MASQ");
    } else if (!facts_.local.not_local.empty()) {
      add(chain, cluster_match_ + " " + facts_.local.not_local + " -j KUBE-MARK-MASQ");
    }
  }

  void write_external() {
    if (!external_) return;
    const std::string destinations = " for " + name_ + " external destinations";
    if (!external_local_) {
      add(*external_, quoted("masquerade traffic" + destinations) + " -j KUBE-MARK-MASQ");
    } else if (cluster_chain_) {
      // Pods and processes of this node may use every endpoint, because policy Local is meant to
      // preserve the source address of external clients only.
      if (facts_.local.works()) {
        add(*external_, quoted("pod traffic" + destinations) + " " + facts_.local.is_local + jump(*cluster_chain_));
      }
      const std::string from_node = " -m addrtype --src-type LOCAL";
      add(*external_, quoted("masquerade LOCAL traffic" + destinations) + from_node + " -j KUBE-MARK-MASQ");
      add(*external_, quoted("route LOCAL traffic" + destinations) + from_node + jump(*cluster_chain_));
    }
    if (!external_refusal_) {
      const std::string to = name(plan_.chains[external_local_ ? *local_chain_ : *cluster_chain_]);
      add(*external_, "-j " + to);
    }
  }

  void write_firewall() {
    if (!firewall_) return;
    const std::string accepted = quoted(name_ + " loadbalancer IP") + " -s ";
    bool node_allowed = false;
    for (const abi::Prefix& range : sdk::source_ranges(port_)) {
      add(*firewall_, accepted + sdk::to_string(range, facts_.family) + jump_external());
      node_allowed = node_allowed || netfilter::contains(range, facts_.node_ip);
    }
    // If a cloud assigns the address to an interface, a process of the node that connects to it
    // has the address itself as its source.
    if (node_allowed) {
      for (const abi::Frontend& vip : sdk::frontends_of(port_, abi::FrontendKind::kLoadBalancer)) {
        add(*firewall_, accepted + sdk::to_string(vip.address, facts_.family) + jump_external());
      }
    }
    add(*firewall_, quoted("other traffic to " + name_ + " will be dropped by KUBE-PROXY-FIREWALL"));
  }

  void write_balancing(std::uint32_t chain, const std::vector<std::size_t>& endpoints) {
    const auto comment = [this](const Reachable& endpoint) {
      return endpoint_comment("\"" + name_ + " -> " + endpoint.host_port + "\"");
    };
    if (sdk::has(port_, abi::kSessionAffinity)) {
      for (const std::size_t index : endpoints) {
        const Reachable& endpoint = reachable_[index];
        add(chain, comment(endpoint) + "-m recent --name " + name(plan_.chains[endpoint.chain]) +
                       " --rcheck --seconds " + std::to_string(port_.affinity_seconds) + " --reap" +
                       jump(endpoint.chain));
      }
    }
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      const Reachable& endpoint = reachable_[endpoints[i]];
      const std::size_t left = endpoints.size() - i;
      std::string text = comment(endpoint);
      if (left > 1) {
        char probability[32];
        std::snprintf(probability, sizeof(probability), "%.10f", 1.0 / static_cast<double>(left));
        text.append("-m statistic --mode random --probability ").append(probability).append(" ");
      }
      add(chain, text + "-j " + name(plan_.chains[endpoint.chain]));
    }
  }

  void write_endpoints() {
    const std::string comment = endpoint_comment(name_);
    for (const Reachable& endpoint : reachable_) {
      // Hairpin: an endpoint that reaches itself through the Service must not get its own address as source.
      add(endpoint.chain, comment + "-s " + endpoint.host + " -j KUBE-MARK-MASQ");
      std::string remember;
      if (sdk::has(port_, abi::kSessionAffinity)) {
        remember = "-m recent --name " + name(plan_.chains[endpoint.chain]) + " --set ";
      }
      add(endpoint.chain, comment + remember + match_ + " -j DNAT --to-destination " + endpoint.host_port);
    }
  }

  const abi::ServicePort& port_;
  const PlanFacts& facts_;
  const PlanChoices& choices_;
  std::string name_;
  std::string_view protocol_;
  std::string input_;
  std::string match_;
  std::string cluster_match_;
  std::vector<Reachable> reachable_;
  std::vector<std::size_t> cluster_;  // indexes in reachable_
  std::vector<std::size_t> local_;
  std::optional<Refusal> internal_refusal_;
  std::optional<Refusal> external_refusal_;
  bool has_any_ = false;
  bool internal_over_local_ = false;
  bool external_local_ = false;
  bool uses_external_ = false;
  bool uses_firewall_ = false;
  std::optional<std::uint32_t> firewall_;
  std::optional<std::uint32_t> external_;
  std::optional<std::uint32_t> cluster_chain_;
  std::optional<std::uint32_t> local_chain_;
  ServicePlan plan_;
};

}  // namespace

PlanFacts plan_facts(abi::Family family, const abi::NodeFacts& node) {
  PlanFacts facts;
  facts.family = family;
  facts.masquerade_all = (node.flags & abi::kMasqueradeAll) != 0;
  facts.node_ip = node.node_ip;
  facts.local = netfilter::local_match(family, node);
  return facts;
}

ServicePlan plan_service(const abi::ServicePort& port, const PlanFacts& facts, const PlanChoices& choices) {
  return ServicePlanner(port, facts, choices).make();
}

}  // namespace sluice::iptables

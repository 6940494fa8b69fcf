// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/portal_plan.hpp"

#include <algorithm>

#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::userspace {
namespace {

using netfilter::quoted_comment;
using netfilter::Table;

constexpr std::size_t kMaxName = 191;  // the longest comment with it fits into the 256 bytes of xt_comment
constexpr std::string_view kLocal = " local";
constexpr std::string_view kToThisNode = " -m addrtype --dst-type LOCAL";
constexpr std::string_view kFromThisNode = " -m addrtype --src-type LOCAL";
constexpr std::string_view kLeavesThisNode = " -m addrtype --src-type LOCAL ! --dst-type LOCAL";
constexpr std::string_view kNotTranslated = " -m conntrack ! --ctstate DNAT";

// The narrower of two prefixes; empty if they do not overlap.
std::optional<abi::Prefix> intersection(const abi::Prefix& a, const abi::Prefix& b) {
  const abi::Prefix& wide = a.length <= b.length ? a : b;
  const abi::Prefix& narrow = a.length <= b.length ? b : a;
  if (!netfilter::contains(wide, narrow.address)) return std::nullopt;
  return narrow;
}

class Planner {
 public:
  Planner(const PortalFacts& facts, const abi::ServicePort& port, const ProxyPorts& ports,
          const ProxyPorts& old_backend_ports)
      : facts_(facts),
        port_(port),
        ports_(ports),
        old_backend_ports_(old_backend_ports),
        protocol_(sdk::protocol_name(port.key.protocol)),
        has_(needed_listeners(port)) {
    portal_.name = sdk::service_port_name(port.key);
    portal_.protocol = port.key.protocol;
    check();
    match_ = std::string(" -p ").append(protocol_).append(" -m ").append(protocol_).append(" --dport ");
    external_local_ = sdk::has(port, abi::kExternalPolicyLocal);
  }

  Portal make(const std::vector<std::size_t>& withheld) {
    std::size_t index = 0;
    for (const abi::Frontend& frontend : sdk::frontends(port_)) {
      if (std::find(withheld.begin(), withheld.end(), index++) != withheld.end()) continue;
      switch (frontend.kind) {
        case abi::FrontendKind::kClusterIp:
          cluster_ip(frontend);
          break;
        case abi::FrontendKind::kExternalIp:
        case abi::FrontendKind::kLoadBalancer:
          external_address(frontend);
          break;
        case abi::FrontendKind::kNodePort:
          node_port(frontend);
          break;
      }
    }
    if (guards_proxy_ports_) guard_proxy_ports();
    if (port_.health_check_node_port != 0) {
      add(Table::kFilter, kNodePortNonLocal,
          quoted_comment(portal_.name + " health check node port") + " -m tcp -p tcp --dport " +
              std::to_string(port_.health_check_node_port) + " -j ACCEPT");
    }
    return std::move(portal_);
  }

 private:
  // Clients and the listener they are redirected to.
  struct Clients {
    std::string match;  // empty: all other clients
    bool local;         // the listener of local endpoints
  };

  void check() const {
    if (port_.key.protocol != abi::Protocol::kTcp && port_.key.protocol != abi::Protocol::kUdp) {
      throw sdk::Failure(abi::Code::kUnsupported, portal_.name,
                         "the userspace backend relays TCP and UDP only; use another backend for SCTP");
    }
    netfilter::check_key(port_.key, portal_.name,
                         "invalid name: not a Kubernetes name, so it cannot be written into a rule", kMaxName);
  }

  std::string text(const abi::Address& address) const { return sdk::to_string(address, facts_.family); }
  std::string one(const abi::Address& address) const {
    return text(address) + (facts_.family == abi::Family::kIpv6 ? "/128" : "/32");
  }
  std::string to_port(const abi::Frontend& frontend) const { return match_ + std::to_string(frontend.port); }
  std::string to_address(const abi::Frontend& frontend) const {
    return to_port(frontend) + " -d " + one(frontend.address);
  }

  void add(Table table, std::string_view chain, std::string rule) {
    portal_.rules.push_back({table, std::string(chain), std::move(rule)});
  }
  std::uint16_t proxy_port(bool local) const { return local ? ports_.local : ports_.cluster; }
  std::string comment(bool local) const {
    const std::string plain = listener_comment(portal_.name, local);
    return local ? quoted_comment(plain) : "-m comment --comment " + plain;
  }

  // Redirects to the listener. BEH 8.2 uses REDIRECT for arriving packets, which translates to the first address of the
  // input interface. The interfaces of pods often have no address, and then the kernel drops the packet; DNAT avoids
  // that.
  void redirect(std::string_view chain, bool local, const std::string& match) {
    const std::uint16_t to = proxy_port(local);
    if (to == 0) return;
    std::optional<abi::Address> address = facts_.listen_address;
    if (!address) address = facts_.host_address;
    add(Table::kNat, chain,
        comment(local) + match +
            (address ? " -j DNAT --to-destination " + sdk::host_port(*address, facts_.family, to)
                     : " -j REDIRECT --to-ports " + std::to_string(to)));
  }
  void drop(std::string_view why, const std::string& match) {
    add(Table::kFilter, kPortalsFirewall,
        quoted_comment(std::string(portal_.name).append(" ").append(why)) + match + " -j DROP");
  }
  void drop_without_local_endpoints(const std::string& match) { drop("has no local endpoints", match); }
  void reject(const std::string& match) {
    add(Table::kFilter, kPortalsFirewall,
        quoted_comment(portal_.name + " has no endpoints") + match + " -j REJECT");
  }
  // Packets from this node to other hosts are left alone, as in iptables mode: its rules for these addresses are not
  // reached from OUTPUT.
  void reject_external(const std::string& match) {
    add(Table::kFilter, kPortalsFirewall,
        quoted_comment(portal_.name + " has no endpoints") + match + std::string(kLeavesThisNode) + " -j RETURN");
    reject(match);
  }
  // Adds a RETURN rule above a drop rule, for clients that are redirected to the proxy. Usually DNAT has happened
  // before this chain, but during a swap the other backend may translate these packets later (ipvs), so they must not
  // be dropped.
  void pass(const std::string& match) {
    add(Table::kFilter, kPortalsFirewall, quoted_comment(portal_.name + " is served") + match + " -j RETURN");
  }
  // Pods of this node and its processes, which may use every endpoint, are not dropped.
  void drop_all_but_inside(const std::string& match) {
    for (const Clients& clients : arriving()) pass(match + clients.match);
    pass(match + std::string(kFromThisNode));
    drop_without_local_endpoints(match);
  }

  std::string from_pods() const { return facts_.from_pods.empty() ? "" : " " + facts_.from_pods; }

  // What happens to clients without an endpoint.
  enum class Refusal : std::uint8_t { kNone, kReject, kDrop };
  // Drop: there are endpoints, but not on this node.
  Refusal refusal(bool local_policy) const {
    if (local_policy ? has_.local : has_.cluster) return Refusal::kNone;
    const bool elsewhere = has_.cluster || sdk::has(port_, abi::kHasAnyEndpoint);
    return local_policy && elsewhere ? Refusal::kDrop : Refusal::kReject;
  }

  // The clients at PREROUTING for an external address, in the order their rules need. Pods of this node may use every
  // endpoint.
  std::vector<Clients> arriving() const {
    if (!external_local_) return {{"", false}};
    std::vector<Clients> clients;
    if (facts_.detector != abi::LocalDetectorKind::kNone) clients.push_back({from_pods(), false});
    if (has_.local) clients.push_back({"", true});
    return clients;
  }
  bool drops_arriving() const { return refusal(external_local_) == Refusal::kDrop; }

  void cluster_ip(const abi::Frontend& frontend) {
    const bool local = sdk::has(port_, abi::kInternalPolicyLocal);
    const Refusal refused = refusal(local);
    if (refused == Refusal::kReject) return reject(to_address(frontend));
    if (refused == Refusal::kDrop) return drop_without_local_endpoints(to_address(frontend));
    redirect(kPortalsContainer, local, to_address(frontend));
    redirect(kPortalsHost, local, to_address(frontend));
  }

  void external_address(const abi::Frontend& frontend) {
    const std::string match = to_address(frontend);
    if (refusal(external_local_) == Refusal::kReject) return reject_external(match);
    if (is_restricted(frontend)) {
      // An external IP that is also the load balancer address must not bypass the source ranges.
      if (frontend.kind == abi::FrontendKind::kLoadBalancer) restricted_load_balancer(match);
      return;
    }
    for (const Clients& clients : arriving()) redirect(kPortalsContainer, clients.local, match + clients.match);
    redirect(kPortalsHost, false, match);
    if (drops_arriving()) drop_all_but_inside(match);
  }

  bool is_restricted(const abi::Frontend& frontend) const {
    if (port_.source_ranges.count == 0) return false;
    for (const abi::Frontend& vip : sdk::frontends_of(port_, abi::FrontendKind::kLoadBalancer)) {
      if (vip.address == frontend.address && vip.port == frontend.port) return true;
    }
    return false;
  }

  // Packets from outside the ranges are not redirected, so the filter table still sees the load balancer address.
  void restricted_load_balancer(const std::string& match) {
    guards_proxy_ports_ = true;
    const std::vector<std::string> sources = allowed_sources();
    for (const Clients& clients : arriving()) {
      for (const std::string& source : clients.match.empty() ? sources : sources_of_pods(sources)) {
        redirect(kPortalsContainer, clients.local, match + source);
        if (drops_arriving()) pass(match + source);
      }
    }
    for (const std::string& source : sources) {
      redirect(kPortalsHost, false, match + source);
      pass(match + source + std::string(drops_arriving() ? kFromThisNode : std::string_view()));
    }
    drop("is not for this source", match);
  }

  // The source matches of pods of this node that are in a range.
  std::vector<std::string> sources_of_pods(const std::vector<std::string>& sources) const {
    std::vector<std::string> both;
    if (facts_.detector != abi::LocalDetectorKind::kCidr) {
      for (const std::string& source : sources) both.push_back(source + from_pods());
      return both;
    }
    for (const abi::Prefix& range : sdk::source_ranges(port_)) {
      const auto narrow = intersection(range, facts_.detector_cidr);
      if (narrow) both.push_back(" -s " + sdk::to_string(*narrow, facts_.family));
    }
    return both;
  }

  std::vector<std::string> allowed_sources() const {
    std::vector<std::string> sources;
    bool node_allowed = false;
    for (const abi::Prefix& range : sdk::source_ranges(port_)) {
      sources.push_back(" -s " + sdk::to_string(range, facts_.family));
      node_allowed = node_allowed || netfilter::contains(range, facts_.node_ip);
    }
    if (!node_allowed) return sources;
    // If a cloud assigns the load balancer address to an interface, a local process that connects to it has this
    // address as its source.
    for (const abi::Frontend& vip : sdk::frontends_of(port_, abi::FrontendKind::kLoadBalancer)) {
      sources.push_back(" -s " + one(vip.address));
    }
    return sources;
  }

  // Clients must not bypass the source ranges by connecting to the proxy port directly.
  void guard_proxy_ports() {
    for (const std::uint16_t number :
         {ports_.cluster, ports_.local, old_backend_ports_.cluster, old_backend_ports_.local}) {
      if (number == 0) continue;
      drop("is not reached by its proxy port", match_ + std::to_string(number) + std::string(kNotTranslated));
    }
  }

  void node_port(const abi::Frontend& frontend) {
    const std::string match = to_port(frontend);
    const std::string here = match + std::string(kToThisNode);
    if (refusal(external_local_) == Refusal::kReject) return reject(here);
    bool used[2] = {true, false};
    for (const Clients& clients : arriving()) {
      redirect(kNodePortContainer, clients.local, match + clients.match);
      used[clients.local ? 1 : 0] = true;
    }
    redirect(kNodePortHost, false, match);
    for (const bool local : {false, true}) {
      if (!used[local ? 1 : 0] || proxy_port(local) == 0) continue;
      add(Table::kFilter, kNodePortNonLocal,
          comment(local) + match_ + std::to_string(proxy_port(local)) + " -m state --state NEW -j ACCEPT");
    }
    if (drops_arriving()) drop_all_but_inside(here);
  }

  const PortalFacts& facts_;
  const abi::ServicePort& port_;
  const ProxyPorts& ports_;
  const ProxyPorts& old_backend_ports_;
  std::string_view protocol_;
  const NeededListeners has_;  // lists that have an endpoint
  std::string match_;
  bool external_local_ = false;
  bool guards_proxy_ports_ = false;
  Portal portal_;
};

}  // namespace

std::string listener_comment(const std::string& name, bool local) { return local ? name + std::string(kLocal) : name; }

ListenerName parse_listener_comment(std::string_view comment) {
  const bool local = comment.ends_with(kLocal);
  if (local) comment.remove_suffix(kLocal.size());
  return {std::string(comment), local};
}

bool guards_proxy_port(std::string_view rule) { return rule.find(kNotTranslated) != std::string_view::npos; }

NeededListeners needed_listeners(const abi::ServicePort& port) {
  NeededListeners needed;
  for (const abi::Endpoint& endpoint : sdk::endpoints(port)) {
    needed.cluster = needed.cluster || sdk::has(endpoint, abi::kEndpointInCluster);
    needed.local = needed.local || sdk::has(endpoint, abi::kEndpointInLocal);
  }
  needed.cluster = needed.cluster && sdk::has(port, abi::kUsesClusterEndpoints);
  needed.local = needed.local && sdk::has(port, abi::kUsesLocalEndpoints);
  return needed;
}

Portal plan_portal(const PortalFacts& facts, const abi::ServicePort& port, const ProxyPorts& ports,
                   const std::vector<std::size_t>& withheld, const ProxyPorts& old_backend_ports) {
  return Planner(facts, port, ports, old_backend_ports).make(withheld);
}

}  // namespace sluice::userspace

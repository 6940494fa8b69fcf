// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The iptables rules that redirect packets of one service port to the proxy, and the node facts they
// depend on. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "names/chains.hpp"
#include "plugins/common/netfilter/relay_mark.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {

// BEH 8.1.
using names::kNodePortContainer;
using names::kNodePortHost;
using names::kNodePortNonLocal;
using names::kPortalsContainer;
using names::kPortalsHost;
// Drops packets from outside the source ranges, and to a policy Local without local endpoints; rejects those to a
// service port without endpoints.
using names::kPortalsFirewall;

using PortalChain = names::Chain;
// All chains that this backend owns.
inline constexpr auto kPortalChains = names::written_by<names::kUserspace, names::kChains>();

// The proxy ports of one service port; 0: it has no such listener.
struct ProxyPorts {
  std::uint16_t cluster = 0;
  std::uint16_t local = 0;
  bool operator==(const ProxyPorts&) const = default;
};

// Which listeners a service port needs: one for all endpoints, one for the endpoints of this node. A list without
// endpoints needs none: rules reject or drop its clients.
struct NeededListeners {
  bool cluster = false;
  bool local = false;
};
NeededListeners needed_listeners(const abi::ServicePort& port);

// The node facts that rules depend on. Any change requires a full transaction.
struct PortalFacts {
  abi::Family family = abi::Family::kIpv4;
  std::optional<abi::Address> listen_address;  // empty: the proxy listens on all addresses
  std::optional<abi::Address> host_address;    // node_ip while it is an address of this node
  bool node_ports_match_all = true;
  bool node_ports_on_localhost = true;
  std::vector<abi::Address> node_port_addresses;
  abi::Address node_ip{};
  abi::LocalDetectorKind detector = abi::LocalDetectorKind::kNone;
  abi::Prefix detector_cidr{};
  std::string from_pods;                                 // matches traffic from pods of this node; empty: not possible
  std::uint32_t relay_mark = netfilter::kRelayMarks[0];  // of packets from the relay to endpoints
  bool operator==(const PortalFacts&) const = default;
};
// Throws sdk::Failure (kInvalid) for an invalid interface name.
PortalFacts portal_facts(abi::Family family, const std::optional<abi::Address>& listen_address,
                         const abi::NodeFacts& node);
// Node port addresses that cannot be served, as text: loopback addresses, unless node ports are served on localhost.
std::vector<std::string> unusable_node_port_addresses(const PortalFacts& facts);

struct PortalRule {
  netfilter::Table table;
  std::string chain;
  std::string rule;  // the text after the name of the chain
  bool operator==(const PortalRule&) const = default;
};

struct Portal {
  std::string name;  // printed: "shop/cart:http"
  abi::Protocol protocol;
  std::vector<PortalRule> rules;  // in the order they need in their chains
};

// Plans the rules of all frontends of `port` except `withheld`, indices into port.frontends whose port another Service
// or program holds. No rule redirects to a listener whose port is 0. `old_backend_ports` are proxy ports of the old
// backend, which are guarded like those of the listeners. Pure. Throws sdk::Failure: kInvalid if a name cannot be
// written into a rule, kUnsupported for SCTP.
Portal plan_portal(const PortalFacts& facts, const abi::ServicePort& port, const ProxyPorts& ports,
                   const std::vector<std::size_t>& withheld, const ProxyPorts& old_backend_ports = {});

// Whether a rule of the firewall chain drops direct connections to a proxy port, rather than packets to an address.
bool guards_proxy_port(std::string_view rule);

// Formats and parses the comment of rules that redirect to a listener, without quotes.
std::string listener_comment(const std::string& name, bool local);
struct ListenerName {
  std::string name;  // printed
  bool local;
};
ListenerName parse_listener_comment(std::string_view comment);

// The jumps from built-in chains, in the order in which they are written: the jump that is prepended last ends up
// first.
struct FixedRule {
  PortalRule rule;
  bool first;  // prepend if it is missing; otherwise append
};
std::vector<FixedRule> fixed_rules(const PortalFacts& facts);
// Whether the comment is that of a fixed rule.
bool is_jump_comment(std::string_view comment);

}  // namespace sluice::userspace

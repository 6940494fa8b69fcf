// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What sends packets to the proxy: the rules of one service port, and what the node
// tells that they depend on. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/relay_mark.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "sluice/abi/node.hpp"
#include "sluice/abi/service.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {

// BEH 8.1; the last one is ours: addresses that nobody may reach this way (source ranges, policy Local without a local
// endpoint) are dropped there, as KUBE-PROXY-FIREWALL does in mode iptables.
inline constexpr const char* kPortalsContainer = "KUBE-PORTALS-CONTAINER";
inline constexpr const char* kPortalsHost = "KUBE-PORTALS-HOST";
inline constexpr const char* kNodePortContainer = "KUBE-NODEPORT-CONTAINER";
inline constexpr const char* kNodePortHost = "KUBE-NODEPORT-HOST";
inline constexpr const char* kNodePortNonLocal = "KUBE-NODEPORT-NON-LOCAL";
inline constexpr const char* kPortalsFirewall = "KUBE-PORTALS-FIREWALL";

struct PortalChain {
  netfilter::Table table;
  const char* name;
};
// All of them; nobody else writes to these.
inline constexpr std::array<PortalChain, 6> kPortalChains = {{{netfilter::Table::kNat, kPortalsContainer},
                                                              {netfilter::Table::kNat, kPortalsHost},
                                                              {netfilter::Table::kNat, kNodePortContainer},
                                                              {netfilter::Table::kNat, kNodePortHost},
                                                              {netfilter::Table::kFilter, kNodePortNonLocal},
                                                              {netfilter::Table::kFilter, kPortalsFirewall}}};

// Where the proxy listens for one service port; 0: it has no such face.
struct ProxyPorts {
  std::uint16_t cluster = 0;
  std::uint16_t local = 0;
  bool operator==(const ProxyPorts&) const = default;
};

// Which faces a service port needs: the one that leads to all endpoints, the one that leads to those of this node. A
// service port without endpoints has its faces as well: clients are accepted and closed (BEH case 130).
struct FaceNeeds {
  bool cluster = false;
  bool local = false;
};
FaceNeeds faces_of(const abi::ServicePort& port);

// The facts of the node that rules depend on. A change of any takes a full transaction.
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
  std::string from_pods;  // match of traffic from pods of this node; empty: not possible
  std::uint32_t relay_mark = netfilter::kRelayMarks[0];  // of packets that the relay sends to endpoints
  bool operator==(const PortalFacts&) const = default;
};
// Throws sdk::Failure (kInvalid) for an interface name that could not be one.
PortalFacts portal_facts(abi::Family family, const std::optional<abi::Address>& listen_address,
                         const abi::NodeFacts& node);
// Node port addresses that cannot work, as text: loopback where node ports are not to be served there.
std::vector<std::string> unusable_node_port_addresses(const PortalFacts& facts);

struct PortalRule {
  netfilter::Table table;
  std::string chain;
  std::string rule;  // what follows the name of the chain
  bool operator==(const PortalRule&) const = default;
};

struct Portal {
  std::string name;  // printed: "shop/cart:http"
  abi::Protocol protocol;
  std::vector<PortalRule> rules;  // in the order they are to stand in their chains
};

// Rules for every frontend of `port` but those withheld (their address is claimed by somebody else). Pure.
// `withheld` holds indices into port.frontends. Nothing leads to a face whose port is 0. `earlier`: ports that lead to
// no face of ours, where an earlier backend still serves: they are guarded like those of the faces.
// Throws sdk::Failure: kInvalid when a name could not be written into a rule, kUnsupported for SCTP.
Portal plan_portal(const PortalFacts& facts, const abi::ServicePort& port, const ProxyPorts& ports,
                   const std::vector<std::size_t>& withheld, const ProxyPorts& earlier = {});

// Whether a rule of the firewall chain keeps people from the proxy's port itself, rather than from an address.
bool guards_proxy_port(std::string_view rule);

// The comment of rules that lead to a face, without quotes, and back. It tells which service port a rule is for.
std::string face_comment(const std::string& name, bool local);
struct FaceName {
  std::string name;  // printed
  bool local;
};
FaceName parse_face_comment(std::string_view comment);

// Jumps from the built-in chains, with their position. In the order in which they are written: of those that are
// prepended the last one ends up first.
struct FixedRule {
  PortalRule rule;
  bool first;  // prepend where it is missing; else append
};
std::vector<FixedRule> fixed_rules(const PortalFacts& facts);
// The comment of such a rule.
bool is_jump_comment(std::string_view comment);

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/client_policy.hpp"

#include <algorithm>
#include <utility>

#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::userspace {
namespace {

bool is_pod(const ClientFacts& facts, const abi::Address& client, bool of_this_node, const Arrival& arrival) {
  switch (facts.detector) {
    case abi::LocalDetectorKind::kCidr:
      return netfilter::contains(facts.detector_cidr, client);
    case abi::LocalDetectorKind::kBridgeInterface:
      // Packets of this node have no input interface in iptables mode.
      return !of_this_node && arrival.interface() == facts.detector_interface;
    case abi::LocalDetectorKind::kInterfaceNamePrefix:
      return !of_this_node && arrival.interface().starts_with(facts.detector_interface);
    case abi::LocalDetectorKind::kNone:
      break;
  }
  return false;
}

// The kernel does not forward packets from such an address, in any mode.
bool is_link_local(abi::Family family, const abi::Address& address) noexcept {
  return family == abi::Family::kIpv6 && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

bool detects(abi::LocalDetectorKind kind) noexcept {
  return kind == abi::LocalDetectorKind::kCidr || kind == abi::LocalDetectorKind::kBridgeInterface ||
         kind == abi::LocalDetectorKind::kInterfaceNamePrefix;
}

}  // namespace

bool ClientFacts::of_this_node(const abi::Address& address) const noexcept {
  return netfilter::is_loopback(family, address) ||
         std::binary_search(local_addresses.begin(), local_addresses.end(), address);
}

ClientFacts client_facts(abi::Family family, const abi::NodeFacts& node) {
  ClientFacts facts;
  facts.family = family;
  facts.masquerade_all = (node.flags & abi::kMasqueradeAll) != 0;
  facts.detector = node.detector;
  if (node.detector == abi::LocalDetectorKind::kCidr) {
    facts.detector_cidr = node.detector_cidr;
  } else if (detects(node.detector)) {
    facts.detector_interface = sdk::text(node.detector_interface);
  }
  const auto local = sdk::range<abi::Address>(node.local_addresses);
  facts.local_addresses.assign(local.begin(), local.end());
  std::sort(facts.local_addresses.begin(), facts.local_addresses.end());
  return facts;
}

ClientFrontends client_frontends(const abi::ServicePort& port) {
  ClientFrontends made;
  for (const abi::Frontend& frontend : sdk::frontends(port)) {
    if (frontend.kind == abi::FrontendKind::kClusterIp) {
      made.cluster_ip = frontend.address;
      made.cluster_port = frontend.port;
    } else {
      made.external = true;
    }
  }
  made.external_local = sdk::has(port, abi::kExternalPolicyLocal);
  return made;
}

bool keeps_client_address(const ClientFacts& facts, const ClientFrontends& frontends, const abi::Address& client,
                          const Arrival& arrival) {
  const bool may_be_internal = !facts.masquerade_all;
  const bool may_be_external = frontends.external && frontends.external_local;
  if ((!may_be_internal && !may_be_external) || is_link_local(facts.family, client)) return false;
  const bool here = facts.of_this_node(client);
  const bool pod = is_pod(facts, client, here, arrival);
  const bool internal = may_be_internal && (pod || !detects(facts.detector));
  const bool external = may_be_external && (pod || !here);
  if (!frontends.external || internal == external) return internal;
  const std::optional<Arrival::Destination> to = arrival.destination();
  if (!to) return false;
  const bool to_cluster_ip = to->address == frontends.cluster_ip && to->port == frontends.cluster_port;
  return to_cluster_ip ? internal : external;
}

void ClientPolicy::set(ClientFacts facts) {
  auto made = std::make_shared<const ClientFacts>(std::move(facts));
  const lib::Lock lock(mutex_);
  if (facts_ == nullptr || !(*facts_ == *made)) facts_ = std::move(made);
}

std::shared_ptr<const ClientFacts> ClientPolicy::facts() const {
  const lib::Lock lock(mutex_);
  return facts_;
}

}  // namespace sluice::userspace

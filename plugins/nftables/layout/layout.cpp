// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/layout/layout.hpp"

#include <algorithm>
#include <tuple>

#include "plugins/nftables/layout/pieces.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::nftables {

bool operator==(const LayoutFacts& a, const LayoutFacts& b) {
  const auto rest = [](const LayoutFacts& facts) {
    return std::tie(facts.family, facts.masquerade_mark, facts.masquerade_all, facts.node_ports_match_all,
                    facts.detector, facts.detector_interface, facts.counters, facts.offload);
  };
  return rest(a) == rest(b) && sdk::equal(a.detector_cidr, b.detector_cidr) &&
         std::equal(a.service_cidrs.begin(), a.service_cidrs.end(), b.service_cidrs.begin(), b.service_cidrs.end(),
                    [](const abi::Prefix& one, const abi::Prefix& other) { return sdk::equal(one, other); });
}

LayoutFacts layout_facts(abi::Family family, const abi::NodeFacts& node, bool counters, bool offload) {
  LayoutFacts facts;
  facts.family = family;
  facts.masquerade_mark = node.masquerade_mark;
  facts.masquerade_all = (node.flags & abi::kMasqueradeAll) != 0;
  facts.node_ports_match_all = (node.flags & abi::kNodePortsMatchAll) != 0;
  facts.counters = counters;
  facts.offload = offload;
  for (const auto& cidr : sdk::range<abi::Prefix>(node.service_cidrs)) facts.service_cidrs.push_back(cidr);
  facts.detector = node.detector;
  switch (node.detector) {
    case abi::LocalDetectorKind::kCidr:
      facts.detector_cidr = node.detector_cidr;
      break;
    case abi::LocalDetectorKind::kBridgeInterface:
    case abi::LocalDetectorKind::kInterfaceNamePrefix: {
      facts.detector_interface = sdk::text(node.detector_interface);
      const auto& name = facts.detector_interface;
      // nft cannot list or load other characters unchanged.
      const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
        return c > ' ' && c < 0x7f && c != '"' && c != '*' && c != '\\' && c != '/';
      });
      if (name.empty() || name.size() > 15 || !plain) {
        throw sdk::Failure(
            abi::Code::kInvalid, "detectLocal",
            "invalid interface name '" + name + "': use 1 to 15 printable characters without \", *, \\ and /");
      }
      break;
    }
    default:
      facts.detector = abi::LocalDetectorKind::kNone;
  }
  return facts;
}

bool can_match_local(const LayoutFacts& facts) noexcept { return facts.detector != abi::LocalDetectorKind::kNone; }

bool can_match_other_sources(const LayoutFacts& facts) noexcept {
  return can_match_local(facts) && !(facts.detector == abi::LocalDetectorKind::kCidr && facts.detector_cidr.length == 0);
}

RuleBuilder& match_local(RuleBuilder& rule, const LayoutFacts& facts, bool inverted) {
  if (facts.detector == abi::LocalDetectorKind::kCidr) return rule.from(facts.detector_cidr, inverted);
  return rule.through(facts.detector_interface, facts.detector == abi::LocalDetectorKind::kInterfaceNamePrefix, inverted);
}

}  // namespace sluice::nftables

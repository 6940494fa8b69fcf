// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/local_match.hpp"

#include "plugins/common/netfilter/rule_text.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::netfilter {

LocalMatch local_match(abi::Family family, const abi::NodeFacts& node) {
  const std::string interface(sdk::text(node.detector_interface));
  const bool by_interface = node.detector == abi::LocalDetectorKind::kBridgeInterface ||
                            node.detector == abi::LocalDetectorKind::kInterfaceNamePrefix;
  if (by_interface && (interface.empty() || interface.size() > 15 || !is_plain_name(interface))) {
    throw sdk::Failure(abi::Code::kInvalid, "detectLocal", "'" + interface + "' is not an interface name");
  }
  LocalMatch match;
  switch (node.detector) {
    case abi::LocalDetectorKind::kNone:
      return match;
    case abi::LocalDetectorKind::kCidr:
      match.is_local = "-s " + sdk::to_string(node.detector_cidr, family);
      // iptables rejects "! -s 0.0.0.0/0" because no packet can match it.
      if (node.detector_cidr.length == 0) return match;
      break;
    case abi::LocalDetectorKind::kBridgeInterface:
      match.is_local = "-i " + interface;
      break;
    case abi::LocalDetectorKind::kInterfaceNamePrefix:
      match.is_local = "-i " + interface + "+";
      break;
  }
  match.not_local = "! " + match.is_local;
  return match;
}

}  // namespace sluice::netfilter

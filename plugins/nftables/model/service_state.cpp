// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/service_state.hpp"

namespace sluice::nftables {

bool is_commented(SetId set) {
  switch (set) {
    case SetId::kServiceIps:
    case SetId::kServiceNodePorts:
    case SetId::kNoEndpointServices:
    case SetId::kNoEndpointNodePorts:
    case SetId::kNoLocalServices:
    case SetId::kNoLocalNodePorts:
    case SetId::kFirewallIps:
      return true;
    default:
      return false;
  }
}

std::string element_comment(const std::string& name) {
  constexpr std::size_t kLongest = 128;
  return name.size() <= kLongest ? name : name.substr(0, kLongest - 3) + "...";
}

}  // namespace sluice::nftables

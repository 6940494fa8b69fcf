// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/node_ips.hpp"

#include <algorithm>

#include "lib/text.hpp"

namespace sluice::node {

NodeIps choose_node_ips(const std::vector<lib::IpAddress>& node_addresses, const lib::IpAddress& bind_address) {
  NodeIps out;
  if (!node_addresses.empty()) out.primary = node_addresses.front().family();
  for (const lib::Family family : lib::kFamilies) {
    const auto first = std::find_if(node_addresses.begin(), node_addresses.end(),
                                    [&](const lib::IpAddress& address) { return address.family() == family; });
    if (first != node_addresses.end()) out.ips[lib::family_index(family)] = *first;
  }
  if (!bind_address.is_unspecified()) {
    out.ips[lib::family_index(bind_address.family())] = bind_address;
    out.primary = bind_address.family();
  }
  return out;
}

std::string normalized_node_name(std::string_view override_name, std::string_view host_name) {
  return lib::lower_case(lib::trimmed(override_name.empty() ? host_name : override_name));
}

}  // namespace sluice::node

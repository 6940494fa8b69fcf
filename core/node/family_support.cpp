// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/family_support.hpp"

#include <unistd.h>

#include "lib/sysctl.hpp"

namespace sluice::node {

lib::Status check_ipv6(const std::string& proc) {
  if (::access((proc + "/net/if_inet6").c_str(), F_OK) != 0) {
    return {lib::StatusCode::unsupported, "this kernel has no IPv6: " + proc + "/net/if_inet6 is missing"};
  }
  // Unreadable means not disabled: the file above proves that IPv6 is available.
  const auto disabled = lib::Sysctl(proc + "/sys").read("net/ipv6/conf/all/disable_ipv6");
  if (disabled && *disabled == "1") {
    return {lib::StatusCode::unsupported, "IPv6 is turned off: net.ipv6.conf.all.disable_ipv6 is 1"};
  }
  return {};
}

lib::Result<std::vector<lib::Family>> choose_families(lib::Family primary,
                                                      const std::array<lib::Status, 2>& support) {
  const lib::Status& of_primary = support[lib::family_index(primary)];
  if (!of_primary.ok()) {
    return of_primary.prefixed("the primary family of this node, " + std::string(family_name(primary)) +
                               ", cannot be served");
  }
  std::vector<lib::Family> out{primary};
  const lib::Family other = primary == lib::Family::ipv4 ? lib::Family::ipv6 : lib::Family::ipv4;
  if (support[lib::family_index(other)].ok()) out.push_back(other);
  return out;
}

}  // namespace sluice::node

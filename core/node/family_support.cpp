// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/family_support.hpp"

#include <unistd.h>

#include <algorithm>

#include "core/node/sysctl.hpp"

namespace sluice::node {

base::Status check_ipv6(const std::string& proc) {
  if (::access((proc + "/net/if_inet6").c_str(), F_OK) != 0) {
    return {base::StatusCode::unsupported, "this kernel has no IPv6: " + proc + "/net/if_inet6 is missing"};
  }
  // Unreadable means not disabled: the file above proves that IPv6 is available.
  const auto disabled = Sysctl(proc + "/sys").read("net/ipv6/conf/all/disable_ipv6");
  if (disabled && *disabled == "1") {
    return {base::StatusCode::unsupported, "IPv6 is turned off: net.ipv6.conf.all.disable_ipv6 is 1"};
  }
  return {};
}

base::Result<std::vector<base::Family>> choose_families(base::Family primary,
                                                        const std::array<base::Status, 2>& support) {
  const base::Status& of_primary = support[base::family_index(primary)];
  if (!of_primary.ok()) {
    return of_primary.prefixed("the primary family of this node, " + std::string(family_name(primary)) +
                               ", cannot be served");
  }
  std::vector<base::Family> out{primary};
  const base::Family other = primary == base::Family::ipv4 ? base::Family::ipv6 : base::Family::ipv4;
  if (support[base::family_index(other)].ok()) out.push_back(other);
  return out;
}

std::string check_address_family(const std::string& what, const base::SocketAddress& where,
                                 const std::vector<base::Family>& usable) {
  const base::Family family = where.address.family();
  if (where.address.is_unspecified() || std::find(usable.begin(), usable.end(), family) != usable.end()) return {};
  return what + " " + where.to_string() + " is an " + std::string(family_name(family)) +
         " address, and this node serves no " + std::string(family_name(family)) + "; name one of the other family";
}

}  // namespace sluice::node

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How iptables backends name what they own, so that a successor can say what it takes over. Pure.
#pragma once

#include <string>
#include <string_view>

#include "plugins/common/netfilter/restore.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

// "iptables/nat/KUBE-SERVICES", "ip6tables/…".
inline std::string claim_of(abi::Family family, Table table, std::string_view chain) {
  return std::string(family == abi::Family::kIpv6 ? "ip6tables/" : "iptables/")
      .append(table_name(table))
      .append("/")
      .append(chain);
}

// A claim that ends with an asterisk covers everything that begins like it.
inline bool claim_covers(std::string_view claim, std::string_view artifact) noexcept {
  if (claim.ends_with('*')) return artifact.starts_with(claim.substr(0, claim.size() - 1));
  return claim == artifact;
}

}  // namespace sluice::netfilter

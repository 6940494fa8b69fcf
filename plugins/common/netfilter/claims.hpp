// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names of the objects that iptables backends own (sdk/claims.hpp). Pure.
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

}  // namespace sluice::netfilter

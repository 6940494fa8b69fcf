// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Names of the objects that iptables backends own (sdk/claims.hpp). Pure.
#pragma once

#include <string>
#include <string_view>

#include "names/claims.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::netfilter {

// "iptables/nat/KUBE-SERVICES", "ip6tables/…".
inline std::string claim_of(abi::Family family, Table table, std::string_view chain) {
  return names::chain_claim(family == abi::Family::kIpv6, table, chain);
}

}  // namespace sluice::netfilter

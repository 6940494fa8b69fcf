// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/claims.hpp"

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::nftables {

std::string table_claim(abi::Family family) {
  return std::string(family == abi::Family::kIpv6 ? "nft/ip6/" : "nft/ip/").append(kTableName);
}

bool is_claimed(const abi::ArrayView& claims, abi::Family family) {
  return sdk::Claims(claims).cover(table_claim(family));
}

}  // namespace sluice::nftables

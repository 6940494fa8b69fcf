// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/claims.hpp"

#include "names/claims.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::nftables {

std::string table_claim(abi::Family family) { return names::nft_claim(family == abi::Family::kIpv6); }

bool is_claimed(const abi::ArrayView& claims, abi::Family family) {
  return sdk::Claims(claims).cover(table_claim(family));
}

}  // namespace sluice::nftables

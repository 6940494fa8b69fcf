// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/claims.hpp"

#include <algorithm>

#include "plugins/common/netfilter/claims.hpp"
#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

std::string table_claim(abi::Family family) {
  return std::string(family == abi::Family::kIpv6 ? "nft/ip6/" : "nft/ip/").append(kTableName);
}

bool is_claimed(const abi::ArrayView& claims, abi::Family family) {
  const std::string table = table_claim(family);
  const auto all = sdk::range<abi::StringView>(claims);
  return std::any_of(all.begin(), all.end(),
                     [&](const abi::StringView& claim) { return netfilter::claim_covers(sdk::text(claim), table); });
}

}  // namespace sluice::nftables

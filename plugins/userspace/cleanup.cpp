// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/cleanup.hpp"

#include <algorithm>

#include "plugins/common/netfilter/claims.hpp"

namespace sluice::userspace {

std::vector<std::string> portal_claims(abi::Family family) {
  std::vector<std::string> claims;
  for (const PortalChain& chain : kPortalChains) claims.push_back(netfilter::claim_of(family, chain.table, chain.name));
  return claims;
}

void remove_unclaimed(PortalWriter& writer, abi::Family family, const std::vector<std::string>& claims) {
  writer.remove_all([&](netfilter::Table table, const std::string& chain) {
    const std::string artifact = netfilter::claim_of(family, table, chain);
    return std::any_of(claims.begin(), claims.end(),
                       [&](const std::string& claim) { return netfilter::claim_covers(claim, artifact); });
  });
}

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/cleanup.hpp"

#include <algorithm>

#include "plugins/common/netfilter/claims.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::userspace {
namespace {

bool is_claimed(const std::vector<std::string>& claims, const std::string& artifact) {
  return std::any_of(claims.begin(), claims.end(),
                     [&](const std::string& claim) { return sdk::covers(claim, artifact); });
}

}  // namespace

std::vector<std::string> portal_claims(abi::Family family) {
  std::vector<std::string> claims;
  for (const PortalChain& chain : kPortalChains) claims.push_back(netfilter::claim_of(family, chain.table, chain.name));
  return claims;
}

bool claims_all(abi::Family family, const std::vector<std::string>& claims) {
  return std::all_of(kPortalChains.begin(), kPortalChains.end(), [&](const PortalChain& chain) {
    return is_claimed(claims, netfilter::claim_of(family, chain.table, chain.name));
  });
}

void remove_unclaimed(PortalWriter& writer, abi::Family family, const std::vector<std::string>& claims,
                      PortalWriter::Part part) {
  writer.remove(part, [&](netfilter::Table table, const std::string& chain) {
    return is_claimed(claims, netfilter::claim_of(family, table, chain));
  });
}

}  // namespace sluice::userspace

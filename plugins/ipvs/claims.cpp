// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/claims.hpp"

#include "plugins/common/netfilter/claims.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

std::vector<std::string> claims_of(abi::Family family) {
  std::vector<std::string> claims{servers_claim(), link_claim()};
  for (const SetId set : all_sets()) claims.push_back(set_claim(set_name(set, family)));
  for (const names::Chain& chain : kOwnedChains) claims.push_back(netfilter::claim_of(family, chain.table, chain.name));
  return claims;
}

bool NewBackendClaims::covers_everything(abi::Family family) const { return claims_.cover_all(claims_of(family)); }

}  // namespace sluice::ipvs

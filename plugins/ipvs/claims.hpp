// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What this backend owns in the kernel, as claims (sdk, backend.hpp). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/netfilter/restore.hpp"
#include "plugins/ipvs/sets/set_spec.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::ipvs {

// All virtual servers that are ours, together: there may be tens of thousands.
inline constexpr std::string_view kServersClaim = "ipvs/virtual-servers";
inline constexpr std::string_view kLinkClaim = "link/kube-ipvs0";
std::string set_claim(std::string_view set_name);

// Everything of one family.
std::vector<std::string> claims_of(abi::Family family);

// Those of a successor.
class SuccessorClaims {
 public:
  SuccessorClaims() = default;
  explicit SuccessorClaims(const abi::ArrayView& claims) : claims_(claims) {}
  bool covers(std::string_view artifact) const { return claims_.cover(artifact); }
  // All this backend may have: whoever claims that goes on with it as it stands.
  bool covers_everything(abi::Family family) const;

 private:
  sdk::Claims claims_;
};

}  // namespace sluice::ipvs

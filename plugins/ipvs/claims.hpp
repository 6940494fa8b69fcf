// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What this backend owns in the kernel, as claims (sdk, backend.hpp). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "names/claims.hpp"
#include "plugins/common/netfilter/restore.hpp"
#include "plugins/ipvs/sets/set_spec.hpp"
#include "sluice/sdk/claims.hpp"

namespace sluice::ipvs {

using names::link_claim;
using names::servers_claim;
using names::set_claim;

// All claims of one family.
std::vector<std::string> claims_of(abi::Family family);

// Claims of the new backend.
class NewBackendClaims {
 public:
  NewBackendClaims() = default;
  explicit NewBackendClaims(const abi::ArrayView& claims) : claims_(claims) {}
  bool covers(std::string_view artifact) const { return claims_.cover(artifact); }
  // A new backend that claims everything adopts the kernel state unchanged.
  bool covers_everything(abi::Family family) const;

 private:
  sdk::Claims claims_;
};

}  // namespace sluice::ipvs

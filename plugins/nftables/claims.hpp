// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What this backend owns in the kernel, as claims (sdk, backend.hpp): the table of its family. Pure.
#pragma once

#include <string>

#include "sluice/sdk/views.hpp"

namespace sluice::nftables {

// "nft/ip/kube-proxy", "nft/ip6/kube-proxy".
std::string table_claim(abi::Family family);

// Whether a new backend with these claims (StringView) adopts the table.
bool is_claimed(const abi::ArrayView& claims, abi::Family family);

}  // namespace sluice::nftables

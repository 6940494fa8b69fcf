// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The hash in the names of chains, the same as kube-proxy makes.
#pragma once

#include <array>
#include <string_view>

namespace sluice::netfilter {

using ShortHash = std::array<char, 16>;

// The first 16 characters of the base32 form (A–Z, 2–7) of SHA-256.
ShortHash base32_hash(std::string_view input);

}  // namespace sluice::netfilter

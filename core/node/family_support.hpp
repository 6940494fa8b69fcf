// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which IP families this node can serve (BEH 11.5, step 8).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::node {

// Whether the kernel supports IPv6; the error has the reason. `proc` is for tests.
lib::Status check_ipv6(const std::string& proc = "/proc");

// The families to use, the primary one first. `support`, by lib::family_index(), has the results of check_ipv6() and
// of the backend's probe. It is an error if the primary family is not supported, because the cluster depends on it.
lib::Result<std::vector<lib::Family>> choose_families(lib::Family primary,
                                                      const std::array<lib::Status, 2>& support);

}  // namespace sluice::node

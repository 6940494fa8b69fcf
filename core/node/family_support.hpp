// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which IP families this node can serve (BEH 11.5, step 8).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::node {

// Whether the kernel speaks IPv6 here; not ok says why not. `proc` is for tests.
base::Status check_ipv6(const std::string& proc = "/proc");

// The families in use, the primary one first. `support`, by base::family_index(), is
// what check_ipv6() and the backend's probe say of each. A primary family that is not
// supported is an error: its Services are the ones the cluster counts on.
base::Result<std::vector<base::Family>> choose_families(base::Family primary,
                                                        const std::array<base::Status, 2>& support);

// A sentence when an address to listen on is of a family this node does not use, else
// empty (BEH 11.7). `what` names the setting. Unspecified addresses listen in every family.
std::string check_address_family(const std::string& what, const base::SocketAddress& where,
                                 const std::vector<base::Family>& usable);

}  // namespace sluice::node

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Session affinity: which endpoint each client is bound to. IPVS keeps a persistence template for each client and
// lists it among its connections. It cannot import bindings.
#pragma once

#include <cstddef>

#include "plugins/ipvs/servers/connection_table.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/abi/affinity.hpp"

namespace sluice::ipvs {

// Exports each client once per service port. If IPVS bound it differently at several frontends, the binding that
// expires last counts. `more` returns false when the time is up. Returns false if some connections were not read.
bool export_clients(const Wanted& wanted, const VisitConnections& visit, const MoreTime& more, abi::AffinitySink& sink);

// Counts those of `clients` (AffinityClient) that have no matching IPVS template. The result is 0 if an IPVS backend
// exported them, because the templates stay in the kernel. Bindings that are about to expire are ignored.
std::size_t count_unbound(abi::ArrayView clients, const VisitConnections& visit, const MoreTime& more);

}  // namespace sluice::ipvs

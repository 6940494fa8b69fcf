// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which endpoint each client is bound to by session affinity: IPVS keeps a template for it, which shows among its
// connections. It takes none from others.
#pragma once

#include <cstddef>

#include "plugins/ipvs/servers/connection_table.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/abi/affinity.hpp"

namespace sluice::ipvs {

// Tells `sink` of the clients of what is wanted: each once for a service port, with the endpoint it is bound to for the
// longest time, where IPVS has bound it differently at several frontends. `more`: whether there is time to go on. False:
// not everything was seen.
bool export_clients(const Wanted& wanted, const VisitConnections& visit, const MoreTime& more, abi::AffinitySink& sink);

// How many of `clients`, AffinityClient, IPVS has not bound to the endpoint they have: none when it is IPVS that they come
// from, which keeps its templates from one backend of this mode to the next. One about to be forgotten is none of them.
std::size_t count_unbound(abi::ArrayView clients, const VisitConnections& visit, const MoreTime& more);

}  // namespace sluice::ipvs

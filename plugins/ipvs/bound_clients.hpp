// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which endpoint each client is bound to by session affinity: IPVS keeps a template for it, which shows among its
// connections. It takes none from others.
#pragma once

#include <chrono>

#include "plugins/ipvs/servers/connection_table.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/abi/affinity.hpp"

namespace sluice::ipvs {

// Tells `sink` of the clients of what is wanted: each once for a service port, with the endpoint it is bound to for the
// longest time, where IPVS has bound it differently at several frontends. `more`: asked for each connection whether
// there is time to go on. False: not everything was seen.
bool export_clients(const Wanted& wanted, const VisitConnections& visit, const std::function<bool()>& more,
                    abi::AffinitySink& sink);

}  // namespace sluice::ipvs

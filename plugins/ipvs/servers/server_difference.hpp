// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which commands turn what IPVS holds into what is wanted (the table of BEH 6.4). Pure.
#pragma once

#include <vector>

#include "plugins/ipvs/servers/server_memory.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"

namespace sluice::ipvs {

// Appends them. `held` null: there is no such virtual server. `grace`: real servers nobody wants get the weight 0 instead of being
// removed; those that have it are left alone then.
void append_difference(const HeldServer* held, const WantedServer& wanted, bool grace,
                       std::vector<ServerCommand>& commands);

}  // namespace sluice::ipvs

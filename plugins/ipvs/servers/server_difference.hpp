// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The commands that bring IPVS from what it holds to what is wanted (the table of BEH 6.4). Pure.
#pragma once

#include <vector>

#include "plugins/ipvs/servers/server_cache.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"

namespace sluice::ipvs {

// Appends them. `held` null: no such virtual server. `grace`: unwanted real servers get weight 0 instead of being
// removed.
void append_difference(const HeldServer* held, const WantedServer& wanted, bool grace,
                       std::vector<ServerCommand>& commands);

}  // namespace sluice::ipvs

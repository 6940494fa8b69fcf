// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What differs between IPVS as it is and as it was left, in a phrase. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_memory.hpp"

namespace sluice::ipvs {

// Of all virtual servers that are ours.
std::optional<std::string> server_damage(const ServerMemory& memory, std::vector<VirtualServer> found, abi::Family family);
// Of the real servers of one.
std::optional<std::string> real_damage(const ServerKey& key, const HeldServer& held,
                                       const std::vector<RealServerState>& found, abi::Family family);

}  // namespace sluice::ipvs

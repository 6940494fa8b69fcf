// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Drift between IPVS and what was last written, as a phrase. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_cache.hpp"

namespace sluice::ipvs {

// Of all our virtual servers.
std::optional<std::string> server_drift(const ServerCache& cache, std::vector<VirtualServer> found, abi::Family family);
// Of the real servers of one virtual server.
std::optional<std::string> real_server_drift(const ServerKey& key, const HeldServer& held,
                                             const std::vector<RealServerState>& found, abi::Family family);

}  // namespace sluice::ipvs

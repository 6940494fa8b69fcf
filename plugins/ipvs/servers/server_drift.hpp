// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Drift between IPVS and what was last written, as single differences and as a phrase. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/ipvs/servers/server_cache.hpp"

namespace sluice::ipvs {

struct ServerDrift {
  enum class Kind : std::uint8_t { kGone, kChanged, kAdded };
  Kind kind{};
  ServerKey key;
  std::optional<RealServer> real{};  // of this virtual server; empty: the virtual server itself
  std::string what{};                // "is gone"; empty for a virtual server that was added
  std::string wanted{};              // with kChanged: the attributes
  std::string found{};               // with kChanged and real servers that were added
};
using OnServerDrift = std::function<void(const ServerDrift&)>;

// Of all virtual servers. kAdded: another process created it; it may be foreign.
void compare_servers(const ServerCache& cache, std::vector<VirtualServerState> found, const OnServerDrift& on_drift);
// Of the real servers of one virtual server. One that drains may be gone.
void compare_real_servers(const ServerKey& key, const HeldServer& held, const std::vector<RealServerState>& found,
                          const OnServerDrift& on_drift);

// Of all our virtual servers. Empty: none.
std::optional<std::string> server_drift(const ServerCache& cache, std::vector<VirtualServerState> found, abi::Family family);
// Of the real servers of one virtual server.
std::optional<std::string> real_server_drift(const ServerKey& key, const HeldServer& held,
                                             const std::vector<RealServerState>& found, abi::Family family);

}  // namespace sluice::ipvs

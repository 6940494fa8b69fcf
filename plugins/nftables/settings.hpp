// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings, read once from the flattened options. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::nftables {

struct Settings {
  bool counters = false;                    // count packets and bytes of each Service
  std::uint32_t affinity_clients = 262144;  // maximum clients per address family in map affinity
  // Interfaces of the flowtable: names, or prefixes followed by *. Empty: no offload.
  std::vector<std::string> offload_interfaces;

  bool offloads() const noexcept { return !offload_interfaces.empty(); }
  // Whether the table has the sets of all frontends.
  bool lists_frontends() const noexcept { return counters || offloads(); }
};

// `given`: CreateArgs::options. Throws sdk::Failure (kInvalid) if a key is unknown, malformed, out of range or contradicts
// another one; it names the key and the allowed values.
Settings read_settings(const abi::ArrayView& given);

}  // namespace sluice::nftables

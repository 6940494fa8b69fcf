// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Our sets and maps as the kernel and nft describe them. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nftables/elements.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

struct SetSpec {
  std::string name;
  std::uint32_t flags = 0;       // NFT_SET_…
  std::uint32_t key_type = 0;    // type number of nft, concatenated
  std::uint32_t key_size = 0;    // bytes
  std::uint32_t data_type = 0;   // of maps; NFT_DATA_VERDICT or a type number of nft
  std::uint32_t data_size = 0;   // bytes; 0 for sets
  std::uint32_t capacity = 0;    // elements; 0: no limit
  std::uint64_t timeout_ms = 0;  // default of elements; only with NFT_SET_TIMEOUT
  bool counters = false;         // each element counts the packets that match it
  std::string userdata;          // for nft: byte order, typeof, comment
  bool is_map() const noexcept { return data_size != 0; }
};

// A set with elements of Services.
SetSpec set_spec(abi::Family family, SetId id);
// Whether the set exists only with the settings `counters` or `offloadInterfaces`.
bool only_with_frontends(SetId id);

// Maps without elements of Services. service-chains and firewall-chains: class number : verdict.
SetSpec service_chains_spec(abi::Family family);
SetSpec firewall_chains_spec(abi::Family family);
// affinity id . client : token; filled by the packet path. `capacity`: maximum number of clients.
SetSpec affinity_spec(abi::Family family, std::uint32_t capacity);

// All sets and maps, in the order of creation.
std::vector<SetSpec> all_sets(abi::Family family, bool with_frontends, std::uint32_t affinity_capacity);

}  // namespace sluice::nftables

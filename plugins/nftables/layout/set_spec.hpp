// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Our sets and maps as the kernel and the nft program are told of them. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nftables/values.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

struct SetSpec {
  std::string name;
  std::uint32_t flags = 0;       // NFT_SET_…
  std::uint32_t key_type = 0;    // as nft numbers its types, concatenated
  std::uint32_t key_size = 0;    // bytes
  std::uint32_t data_type = 0;   // of maps; NFT_DATA_VERDICT or as nft numbers its types
  std::uint32_t data_size = 0;   // bytes; 0 for sets
  std::uint32_t capacity = 0;    // elements; 0: no limit
  std::uint64_t timeout_ms = 0;  // default of elements; only with NFT_SET_TIMEOUT
  bool counters = false;         // every element counts the packets that match it
  std::string userdata;          // for nft: byte order, typeof, comment
  bool is_map() const noexcept { return data_size != 0; }
};

// One of those whose elements Services decide on.
SetSpec set_spec(abi::Family family, SetId id);
// Has this set only when packets are counted for each Service.
bool only_with_counters(SetId id);

// The three that are filled otherwise. service-chains and firewall-chains: class number : verdict.
SetSpec service_chains_spec(abi::Family family);
SetSpec firewall_chains_spec(abi::Family family);
// affinity id . client : token; the kernel fills it when a client comes. `capacity`: clients remembered at once.
SetSpec affinity_spec(abi::Family family, std::uint32_t capacity);

// Everything, in the order of creation.
std::vector<SetSpec> all_sets(abi::Family family, bool counters, std::uint32_t affinity_capacity);

}  // namespace sluice::nftables

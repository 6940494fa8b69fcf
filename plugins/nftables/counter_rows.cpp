// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/counter_rows.hpp"

#include <string>

namespace sluice::nftables {

void add_counters(const std::vector<TrafficCount>& counts, const Model& model, inspection::CounterRows& rows) {
  for (const TrafficCount& count : counts) {
    const auto owner = model.owner(count.frontend);
    if (!owner) continue;
    abi::InspectedCounters row{};
    row.key.protocol = count.frontend.protocol;
    row.address = count.frontend.address;
    row.port = count.frontend.port;
    row.flags = abi::kCountedFrontend | abi::kCountedBothDirections | abi::kKnownPackets | abi::kKnownBytes;
    if (count.frontend.node_port) row.flags |= abi::kCountedNodePort;
    row.packets = count.packets;
    row.bytes = count.bytes;
    rows.add(std::string(*owner), row);
  }
}

}  // namespace sluice::nftables

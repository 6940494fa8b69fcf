// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Statistics of the store as of its last batch of events. The store thread publishes them; any thread reads them
// without waiting for it.
#pragma once

#include <cstdint>

namespace sluice::snapshot {

struct StoreStatistics {
  std::uint64_t events = 0;
  std::uint64_t no_op = 0;
  std::uint64_t unusable = 0;
  std::uint64_t services = 0;
  std::uint64_t slices = 0;
  std::uint64_t endpoints = 0;
  std::uint64_t service_events = 0;
  std::uint64_t slice_events[2] = {0, 0};           // by family_index
  std::uint64_t pending_services[2] = {0, 0};       // by family_index: Services changed since the last transaction
  std::uint64_t pending_slice_changes[2] = {0, 0};  // by family_index
  std::uint64_t service_ports[2] = {0, 0};          // by family_index
  std::uint64_t queue_length = 0;
};

}  // namespace sluice::snapshot

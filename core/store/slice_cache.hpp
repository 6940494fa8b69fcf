// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// All EndpointSlices by Service (BEH 2.5), including slices of Services that do not exist (yet). Not thread-safe.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/model/endpoint_slice.hpp"
#include "core/model/service.hpp"
#include "core/store/topology.hpp"

namespace sluice::store {

class SliceCache {
 public:
  using TriggerTimes = std::vector<std::chrono::system_clock::time_point>;

  // The Services whose endpoints changed: two if a slice moved from one Service to another, none for a no-op.
  struct Affected {
    std::vector<std::pair<model::ObjectName, lib::Family>> services;
  };

  Affected upsert(model::EndpointSlice slice);
  Affected remove(const model::ObjectName& slice);
  // Marks a slice as present in the current list.
  void touch(const model::ObjectName& slice);
  void begin_list() { ++epoch_; }
  Affected end_list();  // removes slices that the list did not contain

  // A slice that has a port of the name and protocol of a Service's port.
  struct Match {
    const model::EndpointSlice* slice = nullptr;
    std::uint16_t port = 0;
  };
  using Matches = std::vector<Match>;
  // The matches of each port, in the order of `ports`. Valid until the cache changes.
  std::vector<Matches> matches(const model::ObjectName& service, lib::Family family,
                               const std::vector<model::ServicePortSpec>& ports) const;

  // The merged endpoints of one service port, without duplicates (a non-terminating record takes precedence), sorted by
  // the text "ip:port" in byte order.
  static std::vector<Candidate> candidates(const Matches& matches, std::string_view node_name);

  // Trigger times of slice changes in this family since the last call. No-ops do not count.
  TriggerTimes take_trigger_times(const model::ObjectName& service, lib::Family family);

  std::size_t slice_count() const { return owner_of_.size(); }
  std::size_t endpoint_count() const { return endpoint_count_; }

 private:
  struct Entry {
    model::EndpointSlice slice;
    std::uint32_t epoch = 0;
  };
  struct PerService {
    std::map<std::string, Entry> slices;  // by slice name, for a fixed order
    TriggerTimes trigger_times[2];  // by lib::family_index
  };

  void erase(const model::ObjectName& slice, Affected& affected);

  std::unordered_map<model::ObjectName, PerService> services_;
  std::unordered_map<model::ObjectName, model::ObjectName> owner_of_;  // slice → Service
  std::uint32_t epoch_ = 0;
  std::size_t endpoint_count_ = 0;
  // Older trigger times belong to changes from before this process started.
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
};

}  // namespace sluice::store

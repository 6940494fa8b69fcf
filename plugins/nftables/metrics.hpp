// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports the metrics of the backend. The apply thread only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/traffic.hpp"
#include "sluice/abi/service.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::nftables {

// Service ports that have endpoints, but none on this node (BEH 10.4).
class NoLocalEndpoints {
 public:
  void put(const PortId& id, const abi::ServicePort& port, const ServicePlan& plan);
  void remove(const PortId& id);
  void clear() { *this = {}; }
  std::size_t internal() const noexcept { return internal_; }
  std::size_t external() const noexcept { return external_; }

 private:
  struct Policies {
    bool internal = false;
    bool external = false;
  };
  std::map<PortId, Policies> ports_;  // service ports without local endpoints
  std::size_t internal_ = 0;
  std::size_t external_ = 0;
};

class Metrics {
 public:
  explicit Metrics(const sdk::Metrics& metrics) : metrics_(metrics) {}

  void report_objects(std::size_t elements, std::size_t chains, const NoLocalEndpoints& no_local);
  // Adds what has happened since the last call.
  void report_kernel(const KernelStatistics& now);
  void report_offload(std::size_t interfaces);
  void sync_failed();
  void cleanup_failed();
  void saved_listing_used();
  void report_traffic(const Traffic::Delta& delta);

 private:
  struct Objects {
    std::size_t elements;
    std::size_t chains;
    std::size_t internal;
    std::size_t external;
    bool operator==(const Objects&) const = default;
  };
  struct Gauges {
    explicit Gauges(const sdk::Metrics& metrics);
    sdk::Series elements, chains, internal_without_local, external_without_local;
  };
  struct Counters {
    explicit Counters(const sdk::Metrics& metrics);
    sdk::Series transactions, refused_transactions, listings, sent_bytes, saved_listings, sync_failures,
        cleanup_failures;
  };
  struct ServiceSeries {
    sdk::Series packets;
    sdk::Series bytes;
  };

  Counters& counters();

  const sdk::Metrics metrics_;
  // Exist from the first report on. A backend that only probes or cleans up has none.
  std::optional<Gauges> gauges_;
  std::optional<Counters> counters_;
  std::optional<sdk::Series> offload_;
  std::unordered_map<std::string, ServiceSeries> services_;  // by Service, "ns/name"
  std::optional<Objects> objects_;                           // as reported
  KernelStatistics reported_;
};

}  // namespace sluice::nftables

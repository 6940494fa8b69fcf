// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Metrics of the backend, under kube-proxy's names if it has the same metric. The apply thread only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/traffic.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/abi/service.hpp"

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
  // `host` outlives this.
  Metrics(abi::Host& host, abi::Family family);

  void report_objects(std::size_t elements, std::size_t chains, const NoLocalEndpoints& no_local);
  // Adds what has happened since the last call. Only what changed is reported; the first call reports everything.
  void report_kernel(const KernelStatistics& now);
  void report_offload(std::size_t interfaces) const;
  void sync_failed() const;
  void cleanup_failed() const;
  void saved_listing_used() const;
  void report_traffic(const Traffic::Delta& delta) const;

 private:
  struct Objects {
    std::size_t elements;
    std::size_t chains;
    std::size_t internal;
    std::size_t external;
    bool operator==(const Objects&) const = default;
  };

  void report(abi::MetricKind kind, std::string_view name, double value, const std::string& extra_labels = {}) const;

  abi::Host& host_;
  std::string family_label_;
  std::optional<Objects> objects_;  // as reported
  KernelStatistics reported_;
  bool kernel_reported_ = false;
};

}  // namespace sluice::nftables

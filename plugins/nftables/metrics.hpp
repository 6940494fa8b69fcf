// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon is told in figures, under kube-proxy's names where it has the same. The apply thread only.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/model/model.hpp"
#include "plugins/nftables/traffic.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/abi/service.hpp"

namespace sluice::nftables {

// Service ports with endpoints elsewhere but none on this node (BEH 10.4).
class NoLocalEndpoints {
 public:
  void put(const PortId& id, const abi::ServicePort& port, const ServicePlan& plan);
  void remove(const PortId& id);
  void clear() { *this = {}; }
  std::size_t internal() const noexcept { return internal_; }
  std::size_t external() const noexcept { return external_; }

 private:
  struct Lacks {
    bool internal = false;
    bool external = false;
  };
  std::map<PortId, Lacks> ports_;  // those that lack any
  std::size_t internal_ = 0;
  std::size_t external_ = 0;
};

class Metrics {
 public:
  // `host` outlives this.
  Metrics(abi::Host& host, abi::Family family);

  void holdings(std::size_t elements, std::size_t chains, const NoLocalEndpoints& no_local) const;
  // Adds what has happened since the last call.
  void figures(const KernelFigures& now);
  void sync_failed() const;
  void cleanup_failed() const;
  void traffic(const Traffic::News& news) const;

 private:
  void tell(abi::MetricKind kind, std::string_view name, double value, const std::string& more = {}) const;

  abi::Host& host_;
  std::string family_label_;
  KernelFigures told_;
};

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The metrics of this backend, under kube-proxy's names where kube-proxy has the same. The apply thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/abi/host.hpp"

namespace sluice::ipvs {

// Counts Services, not service ports, with endpoints elsewhere but none on this node (BEH 10.4).
class NoLocalEndpoints {
 public:
  void put(const PortId& id, const ServicePlan& plan);
  void remove(const PortId& id);
  void clear() { *this = {}; }
  std::size_t internal() const noexcept { return internal_.size(); }
  std::size_t external() const noexcept { return external_.size(); }

 private:
  using Services = std::map<std::string, unsigned, std::less<>>;  // the number of affected ports of each

  struct Lacks {
    bool internal = false;
    bool external = false;
  };
  std::map<PortId, Lacks> ports_;  // ports without local endpoints
  Services internal_, external_;
};

// Messages sent to each part of the kernel since the process started.
struct Messages {
  std::uint64_t servers = 0;
  std::uint64_t sets = 0;
  std::uint64_t links = 0;
  std::uint64_t sum() const noexcept { return servers + sets + links; }
};

struct Holdings {
  std::size_t virtual_servers = 0;
  std::size_t real_servers = 0;
  std::size_t draining = 0;
  std::size_t set_entries = 0;
  std::size_t addresses = 0;
};

class Metrics {
 public:
  // `host` outlives this.
  Metrics(abi::Host& host, abi::Family family);

  void holdings(const Holdings& now) const;
  void no_local_endpoints(const NoLocalEndpoints& now) const;
  // Adds the messages since the last call.
  void messages(const Messages& now);
  void restore_failed() const;

 private:
  void report(abi::MetricKind kind, std::string_view name, double value, const std::string& more = {}) const;

  abi::Host& host_;
  std::string family_label_;
  Messages reported_;
};

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports the metrics of this backend. The apply thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/sdk/metrics.hpp"

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
  explicit Metrics(const sdk::Metrics& metrics) : metrics_(metrics) {}

  void holdings(const Holdings& now);
  void no_local_endpoints(const NoLocalEndpoints& now);
  // Adds the messages since the last call.
  void messages(const Messages& now);
  void restore_failed();

 private:
  struct Gauges {
    explicit Gauges(const sdk::Metrics& metrics);
    sdk::Series virtual_servers, real_servers, draining, set_entries, addresses, internal_without_local, external_without_local;
  };
  struct Counters {
    explicit Counters(const sdk::Metrics& metrics);
    sdk::Series servers, sets, links, restore_failures;
  };

  Gauges& gauges();
  Counters& counters();

  const sdk::Metrics metrics_;
  // Exist from the first report on. A backend that only probes or cleans up has none.
  std::optional<Gauges> gauges_;
  std::optional<Counters> counters_;
  Messages reported_;
};

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Derives from applied transactions what the daemon itself does in one family: it answers
// health check node ports and deletes stale UDP conntrack entries. Only the active backend
// counts; transactions of another backend count from the time it serves. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/conntrack/old_backend_flows.hpp"
#include "core/conntrack/udp_change_builder.hpp"
#include "core/lifecycle/backend_run.hpp"
#include "core/observe/health/service_health_counts.hpp"
#include "lib/mutex.hpp"

namespace sluice::lifecycle {

// The local endpoints of Services with a health check node port have changed, or the facts about the node.
struct HealthChanged {
  const snapshot::NodeFacts& node;
  std::vector<observe::ServiceHealthUpdate> updates;
};

// All are called under a lock and must not wait.
class ServedFamilyObserver {
 public:
  virtual ~ServedFamilyObserver() = default;
  virtual void health(HealthChanged event) = 0;
  virtual void flows(conntrack::UdpChange change) = 0;
  // The active backend begins to write rules, or that has ended.
  virtual void writing(bool begins) = 0;
  virtual void old_backends(conntrack::OldBackends statement) = 0;
};

class ServedFamily {
 public:
  // The observer must outlive it.
  explicit ServedFamily(ServedFamilyObserver& observer) : observer_(observer) {}

  // This backend begins to write to the kernel, or that has ended, after applied() if with success.
  void writing(RunId run, bool begins);
  // This backend has written the transaction to the kernel.
  void applied(RunId run, const snapshot::Transaction& transaction);
  // See plugin::HostObserver::relayed. A retiring backend that withdraws its last port serves no UDP flow any more.
  void relays(RunId run, plugin::RelayedPort port);
  // The run becomes active; the old backend keeps its established connections. `with_ipvs`: it serves with IPVS.
  void serve(RunId run, bool with_ipvs = false);
  // The run stands for leftover state of an earlier process that still serves established connections.
  void add_leftover(RunId run, bool with_ipvs = false);
  // The run is about to end: its flows may move to the active backend.
  void ending(RunId run);
  // The run serves no connections any more.
  void gone(RunId run);

 private:
  struct Run {
    conntrack::UdpChangeBuilder flows;
    bool with_ipvs = false;
    bool has_served = false;
    bool serves_established = false;
    std::vector<snapshot::Transaction> waiting;  // until it serves: the last full transaction and later deltas
  };

  void take(Run& run, const snapshot::Transaction& transaction) SLUICE_REQUIRES(mutex_);
  void report_old_backends() SLUICE_REQUIRES(mutex_);

  ServedFamilyObserver& observer_;
  lib::Mutex mutex_;
  std::map<RunId, Run> runs_ SLUICE_GUARDED_BY(mutex_);
  RunId serving_ SLUICE_GUARDED_BY(mutex_) = 0;
  // The active backend from the begin to the end of a write.
  std::optional<RunId> writing_ SLUICE_GUARDED_BY(mutex_);
  observe::ServiceHealthCounts health_ SLUICE_GUARDED_BY(mutex_);
  std::shared_ptr<const snapshot::NodeFacts> reported_node_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle

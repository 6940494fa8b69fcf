// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon does itself with what the kernel has, in one family: health check node
// ports, and tracked UDP flows. Of several backends in a process the one that serves counts;
// what another one has applied counts from the moment it serves. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "core/conntrack/feed.hpp"
#include "core/conntrack/reconciler.hpp"
#include "core/lifecycle/backend_run.hpp"
#include "core/observe/health/service_health_counts.hpp"

namespace sluice::lifecycle {

class ServedFamily {
 public:
  struct Sinks {
    // Called under a lock, must not wait.
    std::function<void(const snapshot::NodeFacts&, std::vector<observe::ServiceHealthUpdate>)> health;
    std::function<void(conntrack::UdpChange)> flows;
    std::function<void(conntrack::ConntrackReconciler::Predecessor)> predecessor;
  };

  explicit ServedFamily(Sinks sinks) : sinks_(std::move(sinks)) {}

  // The kernel has it, by this backend.
  void applied(RunId run, const snapshot::Transaction& transaction);
  // As HostCallbacks::relays. A backend that retires and takes back its last port serves no UDP flow any more.
  void relays(RunId run, plugin::RelayedPort port);
  // It serves from now on; who served before goes on with what is established there. `kernel`: by IPVS.
  void serve(RunId run, bool kernel = false);
  // Somebody of whom nothing is known serves established connections: what an earlier process left.
  void inherit(RunId run, bool kernel = false);
  // It still does, for a moment: what can be moved to who serves is moved.
  void ending(RunId run);
  // It serves nobody any more.
  void gone(RunId run);

 private:
  struct Run {
    conntrack::ConntrackFeed feed;
    bool kernel = false;
    bool has_served = false;
    bool serves_established = false;
    std::vector<snapshot::Transaction> waiting;  // until it serves: from the last full one on
  };

  void take(Run& run, const snapshot::Transaction& transaction);
  void tell_predecessors();

  const Sinks sinks_;
  std::mutex mutex_;
  std::map<RunId, Run> runs_;  // under mutex_, as is all that follows
  RunId serving_ = 0;
  observe::ServiceHealthCounts health_;
};

}  // namespace sluice::lifecycle

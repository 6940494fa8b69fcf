// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The active backend, and the handler of the events of all runs: metrics, Kubernetes events, health check node ports
// and conntrack. Only the active run counts for metrics and for service ports that are not programmed.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kube/events/event_recorder.hpp"
#include "core/lifecycle/backend_run.hpp"
#include "core/lifecycle/swapper.hpp"
#include "core/observe/health/service_health_server.hpp"
#include "core/observe/metrics/metrics.hpp"
#include "core/observe/start_trace.hpp"
#include "core/sync/sync_observer.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/queue.hpp"

namespace sluice::lifecycle {

class ServedFamily;

class ActiveBackend final : public sync::SyncObserver {
 public:
  // All must outlive it.
  struct Dependencies {
    observe::Metrics& metrics;
    observe::StartTrace& start_trace;
    kube::EventRecorder& events;
    observe::ServiceHealthServer& service_health;
    const lib::Clock& clock;
    std::string node_name;
    std::string folder;  // of the files that the conntrack threads keep
  };
  // A create or probe call that has not returned.
  struct Starting {
    sync::LoopId loop;
    std::string call;  // "create" or "probe"
    lib::Clock::Time since;
  };
  // The first sync of a family.
  struct FirstSync {
    lib::Family family = lib::Family::ipv4;
    std::vector<std::string> claims;
  };

  explicit ActiveBackend(Dependencies dependencies);
  ~ActiveBackend() override;  // stops
  ActiveBackend(const ActiveBackend&) = delete;
  ActiveBackend& operator=(const ActiveBackend&) = delete;

  // Makes the first run active, before it serves.
  void make_active(std::shared_ptr<BackendRun> next);
  // Starts the conntrack threads of these families. The first run serves them.
  void open(const std::vector<lib::Family>& families);
  // Stops the active run, then the conntrack threads. Kernel state stays.
  void stop();

  // Any thread.
  std::shared_ptr<BackendRun> active_run() const;
  std::vector<Starting> starting() const;

  // [thread of a swap] Makes the run active; it has synced.
  void serve(std::shared_ptr<BackendRun> next, const Claims& claims);
  // [thread of a swap] Reports the end of a swap to the metrics, and warns when the new mode is deprecated.
  void report_swap(const SwapResult& result);
  // Warns when the mode is deprecated.
  void warn_deprecated(const std::string& backend);

  // [any thread] The run stands for leftover state of an earlier process, which still serves established connections.
  void add_leftover(const BackendRun& run);
  // [any thread] As the functions of ServedFamily.
  void ending(const BackendRun& run);
  void gone(const BackendRun& run);
  // [any thread] Whether no conntrack entry of these families leads to an old backend any more.
  bool settled(const BackendRun& run) const;

  // Receives the first sync of each family. One thread may take from it, and its owner may close it.
  lib::HandoverQueue<FirstSync>& first_syncs() { return first_syncs_; }

  // sync::SyncObserver
  void claimed(const sync::Claimed& event) override;
  void writing(const sync::Writing& event) override;
  void applied(const sync::Applied& event) override;
  void synced(const sync::Synced& event) override;
  void not_programmed(const sync::PortNotProgrammed& event) override;
  void relayed(const sync::PortRelayed& event) override;
  void call_started(const sync::CallStarted& event) override;
  void reported(const sync::EventReported& event) override;

 private:
  class Family;

  bool is_active(RunId id) const;
  ServedFamily& served(lib::Family family);

  const Dependencies dependencies_;
  lib::HandoverQueue<FirstSync> first_syncs_;
  std::array<std::unique_ptr<Family>, 2> families_;  // by family_index; filled by open()

  mutable lib::Mutex mutex_;
  std::shared_ptr<BackendRun> run_ SLUICE_GUARDED_BY(mutex_);
  std::vector<lib::Family> awaited_ SLUICE_GUARDED_BY(mutex_);  // families without a first sync
  std::vector<Starting> starting_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle

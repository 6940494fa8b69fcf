// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backends of the process: the active one, the retiring ones and the swap between them. Its members are in the
// order in which they start, and stop in reverse.
//
// Threads: start(), subscribe(), swap() and stop() belong to the main or the reload thread,
// one at a time; the getters may be called on any thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/kube/events/event_recorder.hpp"
#include "core/lifecycle/active_backend.hpp"
#include "core/lifecycle/backend_swaps.hpp"
#include "core/lifecycle/descriptor_keeper.hpp"
#include "core/lifecycle/leftover_state.hpp"
#include "core/lifecycle/retiring_backends.hpp"
#include "core/lifecycle/run_maker.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/observe/health/service_health_server.hpp"
#include "core/observe/metrics/metrics.hpp"
#include "core/observe/start_trace.hpp"
#include "core/snapshot/store_thread.hpp"
#include "lib/clock.hpp"

namespace sluice::lifecycle {

class Backends {
 public:
  // All must outlive the Backends.
  struct Dependencies {
    StateDir& state_dir;
    snapshot::StoreThread& store;
    observe::Metrics& metrics;
    observe::StartTrace& start_trace;
    kube::EventRecorder& events;
    observe::ServiceHealthServer& service_health;
    DescriptorKeeper& descriptors;
    const lib::Clock& clock;
    std::string node_name;
  };

  explicit Backends(const Dependencies& dependencies);
  ~Backends();  // stops

  // Loads the plugin of the configured backend.
  lib::Result<std::shared_ptr<const plugin::Plugin>> load(const config::Settings& settings) const;
  // Creates and probes the backend. Returns the status of each family, by family_index.
  lib::Result<std::array<lib::Status, 2>> start(const config::Settings& settings,
                                                std::shared_ptr<const plugin::Plugin> plugin);
  // Subscribes the backend to the store in these families, so that it begins to write to the kernel. Backends must be
  // stopped before the store.
  lib::Status subscribe(const config::Settings& settings, const std::vector<lib::Family>& families);
  void cancel_swap() { swaps_.cancel(); }  // [any thread] Aborts a swap in progress.
  // Kernel state stays. Must be called before the store is stopped.
  void stop();

  // See BackendSwaps.
  bool wants_swap(const config::Settings& to) const { return swaps_.wanted(to); }
  SwapResult swap(const config::Settings& to, SwapHooks& hooks) { return swaps_.swap(to, hooks); }
  void set_intervals(const config::Settings& settings);

  // Any thread.
  std::shared_ptr<BackendRun> active_run() const { return active_.active_run(); }
  // Pending calls of the first backend, until start() returns.
  std::vector<ActiveBackend::Starting> starting() const { return active_.starting(); }
  std::vector<Retirement::Entry> retiring() const { return retiring_.list(); }
  DescriptorKeeper::Statistics kept_descriptors() const { return descriptors_.statistics(); }
  SwapProgress swap_progress() const { return swaps_.progress(); }

 private:
  StateDir& state_dir_;
  observe::StartTrace& start_trace_;
  const DescriptorKeeper& descriptors_;
  ActiveBackend active_;
  RunMaker runs_;
  RetiringBackends retiring_;
  LeftoverState leftover_;
  BackendSwaps swaps_;
};

}  // namespace sluice::lifecycle

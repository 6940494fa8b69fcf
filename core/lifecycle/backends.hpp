// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Owns the active backend, the draining backends and the swap between them. Also updates the
// ownership ledger, conntrack and health check node ports, and removes leftover state of
// earlier processes and other proxies.
//
// Threads: start(), subscribe(), swap() and stop() belong to the main or the reload thread,
// one at a time; the getters may be called on any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/cleanup/startup_cleanup.hpp"
#include "core/config/settings.hpp"
#include "core/conntrack/reconciler.hpp"
#include "core/kube/events/event_recorder.hpp"
#include "core/lifecycle/descriptor_keeper.hpp"
#include "core/lifecycle/retirement.hpp"
#include "core/lifecycle/served_family.hpp"
#include "core/lifecycle/state_dir.hpp"
#include "core/lifecycle/swapper.hpp"
#include "core/observe/health/service_health_server.hpp"
#include "core/observe/metrics/metrics.hpp"
#include "core/snapshot/store_thread.hpp"
#include "lib/clock.hpp"

namespace sluice::lifecycle {

class Backends {
 public:
  // All must outlive the Backends.
  struct Dependencies {
    StateDir& state_dir;
    observe::Metrics& metrics;
    kube::EventRecorder& events;
    observe::ServiceHealthServer& service_health;
    DescriptorKeeper& descriptors;
    const lib::Clock& clock;
    std::string node_name;
  };

  explicit Backends(Dependencies dependencies);
  ~Backends();  // stops

  // Loads, creates and probes the configured backend. Returns the status of each family, by family_index; fails when
  // the plugin cannot be loaded.
  lib::Result<std::array<lib::Status, 2>> start(const config::Settings& settings);
  // Subscribes the backend to the store in these families, so that it begins to write to the kernel. Backends must be
  // stopped before the store.
  lib::Status subscribe(snapshot::StoreThread& store, const std::vector<lib::Family>& families);
  // [any thread] Aborts a swap in progress.
  void cancel_swap() {
    if (swapper_) swapper_->stop();
  }
  // Kernel state stays. Must be called before the store is stopped.
  void stop();

  // Whether `to` names another backend, other options, or a plugin file whose content has changed.
  bool wants_swap(const config::Settings& to) const;
  // `before_subscribe` provides the objects that the new plugin needs, such as ServiceCIDRs.
  SwapResult swap(const config::Settings& to, std::function<void(const plugin::Plugin&)> before_subscribe);
  void set_intervals(const config::Settings& settings);

  // A create or probe call at start that has not returned.
  struct Starting {
    std::string backend;
    lib::Family family = lib::Family::ipv4;
    std::string call;  // "create" or "probe"
    lib::Clock::Time since;
  };

  // Any thread.
  std::shared_ptr<BackendRun> serving() const;
  // Pending calls of the first backend, until start() returns.
  std::vector<Starting> starting() const;
  std::vector<Retirement::Entry> retiring() const { return retirement_.list(); }
  SwapProgress swap_progress() const;

 private:
  BackendRun::Callbacks callbacks();
  static BackendRun::Settings run_settings(const config::Settings& settings, const std::string& state_dir);
  lib::Result<std::shared_ptr<const plugin::Plugin>> load(const config::PluginSettings& plugins,
                                                          const std::string& id) const;
  void make_families(const std::vector<lib::Family>& families);
  Swapper::Hooks swap_hooks();
  void starting(lib::Family family, std::string_view call);
  void claimed(RunId run, lib::Family family, const std::vector<std::string>& claims);
  lib::Status record(const BackendRun& run, const Claims& claims, ownership::ClaimState state,
                     std::optional<std::chrono::system_clock::time_point> until = std::nullopt);
  void forget(const BackendRun& run, ownership::ClaimState state);
  void serve(std::shared_ptr<BackendRun> run, const Claims& claims);
  void ending(const Retirement::Entry& entry);
  bool settled(const Retirement::Entry& entry) const;
  void gone(const Retirement::Entry& entry, bool clean);
  void forget_run(const BackendRun& run, const std::vector<ownership::ClaimState>& states);
  void find_leftover_backends(const config::Settings& settings, const std::vector<lib::Family>& families);
  void adopt_leftover_backends();
  void drop_descriptors();
  void warn_deprecated(const std::string& backend);
  void adopt(const std::string& backend, const std::vector<cleanup::LeftoverBackend>& found);
  ServedFamily* served(lib::Family family) const;

  const Dependencies dependencies_;
  std::unique_ptr<cleanup::StartupCleanup> startup_cleanup_;  // set by subscribe()
  std::atomic<RunId> last_id_{0};
  snapshot::StoreThread* store_ = nullptr;
  // For retiring backends of an earlier process. Used only by adopter_ once that thread runs.
  config::Settings at_start_;
  std::vector<cleanup::LeftoverBackend> leftover_backends_;
  struct Family {
    std::unique_ptr<conntrack::ConntrackReconciler> conntrack;
    std::unique_ptr<ServedFamily> served;
  };
  std::array<Family, 2> families_;  // by family_index; filled before subscribe() returns

  mutable std::mutex mutex_;
  std::shared_ptr<BackendRun> serving_;  // under mutex_
  std::vector<lib::Family> awaited_;    // families without a first sync; under mutex_
  std::vector<Starting> starting_;       // under mutex_
  // States of adopted runs in the ownership ledger; under mutex_.
  std::map<RunId, std::vector<ownership::ClaimState>> adopted_;
  std::function<void(const plugin::Plugin&)> before_subscribe_;  // for the swap in progress; its thread only
  std::thread adopter_;
  std::atomic<bool> stopping_{false};

  Retirement retirement_;
  std::unique_ptr<Swapper> swapper_;  // set by subscribe()
};

}  // namespace sluice::lifecycle

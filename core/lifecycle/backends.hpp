// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Who programs the node: the backend that serves, the ones that retire, and the swap from
// one to the next; with what hangs on them: the ledger of claims, tracked flows, health
// check node ports, and what earlier processes and other proxies have left.
//
// Threads: start(), feed(), swap() and stop() are the main thread's or the reload thread's,
// one at a time; what is asked for is for any thread.
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

#include "core/base/clock.hpp"
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

namespace sluice::lifecycle {

class Backends {
 public:
  // All outlive it.
  struct Surroundings {
    StateDir& state_dir;
    observe::Metrics& metrics;
    kube::EventRecorder& events;
    observe::ServiceHealthServer& service_health;
    DescriptorKeeper& descriptors;
    const base::Clock& clock;
    std::string node_name;
  };

  explicit Backends(Surroundings surroundings);
  ~Backends();  // stops

  // Loads, makes and probes the backend of the settings. The status of each family, by family_index; a library that
  // cannot be used is the failure.
  base::Result<std::array<base::Status, 2>> start(const config::Settings& settings);
  // From now on it is told, in these families, and writes to the kernel. The store is stopped after this.
  base::Status feed(snapshot::StoreThread& store, const std::vector<base::Family>& families);
  // [any thread] A swap that goes on gives up soon.
  void cancel_swap() {
    if (swapper_) swapper_->stop();
  }
  // Against the flow; kernel state stays. Before the store is stopped.
  void stop();

  // Whether `to` wants another backend than the one that serves, or the same one with other settings or from a file
  // that is another one by now.
  bool wants_swap(const config::Settings& to) const;
  // `before_feed`: what the newcomer's plugin wants to be told is to be provided.
  SwapResult swap(const config::Settings& to, std::function<void(const plugin::Plugin&)> before_feed);
  void set_intervals(const config::Settings& settings);

  // A call of a backend's start that has not returned.
  struct Starting {
    std::string backend;
    base::Family family = base::Family::ipv4;
    std::string call;  // "create" or "probe"
    base::Clock::Time since;
  };

  // Any thread.
  std::shared_ptr<BackendRun> serving() const;
  // Those of the first backend, until start() returns.
  std::vector<Starting> starting() const;
  std::vector<Retirement::Entry> retiring() const { return retirement_.list(); }
  SwapProgress swap_progress() const;

 private:
  BackendRun::Callbacks callbacks();
  static BackendRun::Settings run_settings(const config::Settings& settings, const std::string& state_dir);
  base::Result<std::shared_ptr<const plugin::Plugin>> load(const config::PluginSettings& plugins,
                                                           const std::string& id) const;
  void make_families(const std::vector<base::Family>& families);
  Swapper::Surroundings swap_surroundings();
  void starting(base::Family family, std::string_view call);
  void claimed(RunId run, base::Family family, const std::vector<std::string>& claims);
  base::Status record(const BackendRun& run, const Claims& claims, ownership::ClaimState state,
                      std::optional<std::chrono::system_clock::time_point> until = std::nullopt);
  void forget(const BackendRun& run, ownership::ClaimState state);
  void serve(std::shared_ptr<BackendRun> run, const Claims& claims);
  void ending(const Retirement::Entry& entry);
  bool settled(const Retirement::Entry& entry) const;
  void gone(const Retirement::Entry& entry, bool clean);
  void left(const BackendRun& run, const std::vector<ownership::ClaimState>& states);
  void find_absent(const config::Settings& settings, const std::vector<base::Family>& families);
  void adopt_absent();
  void drop_descriptors();
  void tell_deprecated(const std::string& backend);
  void adopt(const std::string& backend, const std::vector<cleanup::Absent>& found);
  ServedFamily* served(base::Family family) const;

  const Surroundings around_;
  std::unique_ptr<cleanup::StartupCleanup> startup_cleanup_;  // from feed() on
  std::atomic<RunId> last_id_{0};
  snapshot::StoreThread* store_ = nullptr;
  // Of the start, for those who have to retire and are not here; the adopter's once it runs.
  config::Settings at_start_;
  std::vector<cleanup::Absent> absent_;
  struct Family {
    std::unique_ptr<conntrack::ConntrackReconciler> conntrack;
    std::unique_ptr<ServedFamily> served;
  };
  std::array<Family, 2> families_;  // by family_index; filled before feed() returns

  mutable std::mutex mutex_;
  std::shared_ptr<BackendRun> serving_;  // under mutex_
  std::vector<base::Family> awaited_;    // first claims of the start; under mutex_
  std::vector<Starting> starting_;       // under mutex_
  // What the ledger says of runs that were adopted; under mutex_.
  std::map<RunId, std::vector<ownership::ClaimState>> adopted_;
  std::function<void(const plugin::Plugin&)> before_feed_;  // of the swap in progress; its thread only
  std::thread adopter_;
  std::atomic<bool> stopping_{false};

  Retirement retirement_;
  std::unique_ptr<Swapper> swapper_;  // once there is a store
};

}  // namespace sluice::lifecycle

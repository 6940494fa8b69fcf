// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One loaded backend, whether it starts, serves or drains: its library, and for each IP
// family an instance on its own apply thread. Each request goes to all families in parallel;
// the caller waits for all answers, until a timeout.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/backend_handle.hpp"
#include "core/plugin/loader.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"
#include "lib/clock.hpp"
#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

class DescriptorKeeper;

using RunId = sync::RunId;

// Artifacts that a backend owns, by family_index.
using Claims = std::array<std::vector<std::string>, 2>;

// Whether any artifact is in both claims; "…*" matches every name with that prefix.
bool overlap(const Claims& one, const Claims& other);

// Clients bound by session affinity, by family_index.
using BoundClients = std::array<std::vector<plugin::BoundClient>, 2>;

class BackendRun {
 public:
  using KeepWaiting = std::function<bool()>;  // false aborts the wait
  using Timeout = std::chrono::milliseconds;

  struct Settings {
    RunId id = 0;
    std::shared_ptr<const plugin::Plugin> plugin;
    std::vector<lib::Family> families;
    std::array<plugin::BackendSettings, 2> backend;  // by family_index
    sync::SyncLoop::Options loop;
  };
  // What runs use. All must outlive the run.
  struct Environment {
    snapshot::StoreThread& store;
    sync::SyncObserver& observer;  // receives the events of all loops
    const lib::Clock& clock;
    plugin::MetricSink* metrics = nullptr;    // may be null
    DescriptorKeeper* descriptors = nullptr;  // null: backends keep no descriptors
  };

  BackendRun(Settings settings, const Environment& environment);
  ~BackendRun();  // stops
  BackendRun(const BackendRun&) = delete;
  BackendRun& operator=(const BackendRun&) = delete;

  // Creates and probes the backend in all families in parallel. Returns the results by family_index; ok for a family
  // that does not belong to this run. A family that failed is removed from the run; a family that timed out stays.
  // Must be called once.
  std::array<lib::Status, 2> start(Timeout timeout);
  // Opens a subscription of the store for each family. Called once, after start().
  void subscribe(snapshot::SettingsStage facts = snapshot::SettingsStage::running);
  // Closes the subscriptions; the backend takes no further transactions.
  void unsubscribe();
  // The results of apply() are no longer needed, neither of the calls in progress nor of later ones.
  void cancel();
  // Cancels, waits for calls in progress, and releases the backend; kernel state stays.
  void stop();

  RunId id() const { return settings_.id; }
  const Settings& settings() const { return settings_; }
  const plugin::Plugin& plugin() const { return *settings_.plugin; }
  std::shared_ptr<const plugin::Plugin> shared_plugin() const { return settings_.plugin; }
  struct PerFamily final : sync::TransactionSource {
    PerFamily(lib::Family of, snapshot::StoreThread& from) : family(of), store(from) {}
    std::shared_ptr<const snapshot::Transaction> take(bool full, const model::Namespaces& deferred) override;

    const lib::Family family;
    snapshot::StoreThread& store;
    std::unique_ptr<sync::SyncLoop> loop{};
    std::atomic<snapshot::SubscriptionId> subscription{0};
    std::shared_future<lib::Status> probe{};
  };
  // Does not change after start().
  const std::vector<std::unique_ptr<PerFamily>>& families() const { return families_; }
  bool has(lib::Family family) const;

  // Each waits for all families, with one `timeout` for all of them, and calls `keep_waiting` (may be empty) every few
  // milliseconds. A timeout of a family is a failure. Returns the first failure, prefixed with the backend.
  lib::Status hold(Timeout timeout, const KeepWaiting& keep_waiting = {});
  void resume();
  lib::Result<Claims> claims(Timeout timeout);
  lib::Status apply_full(Timeout timeout, const KeepWaiting& keep_waiting = {});
  lib::Status verify(Timeout timeout, const KeepWaiting& keep_waiting = {});
  // kOk when all families have finished, kRetry while any family still drains.
  plugin::Outcome retire(const Claims& of_successor, std::chrono::seconds drain, Timeout timeout,
                         const KeepWaiting& keep_waiting = {});
  // kUnsupported is a failure, too.
  lib::Result<BoundClients> export_clients(Timeout timeout);
  lib::Status import_clients(const BoundClients& clients, Timeout timeout);
  void set_intervals(const sync::SyncLoop::Options& options);

  // Whether a backend call is in progress, for which hold(), claims() and so on would wait.
  bool busy() const;
  // Whether every transaction taken is in the kernel, in all families.
  bool synced() const;
  // Age of the oldest change that is not in the kernel yet.
  lib::Clock::Duration pending_for() const;

 private:
  template <class T, class Ask>
  std::vector<std::pair<const PerFamily*, std::optional<T>>> ask(Timeout timeout, const KeepWaiting& keep_waiting,
                                                                 Ask&& ask);

  const Settings settings_;
  const Environment environment_;
  std::vector<std::unique_ptr<PerFamily>> families_;
};

}  // namespace sluice::lifecycle

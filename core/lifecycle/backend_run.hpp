// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One backend as it arrives, serves or drains: a library, and per IP family a backend on an
// apply thread of its own. What is asked of it is asked of all families at once, and the
// caller waits, no longer than a limit.
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

#include "core/base/clock.hpp"
#include "core/base/ip.hpp"
#include "core/base/status.hpp"
#include "core/plugin/backend_handle.hpp"
#include "core/plugin/loader.hpp"
#include "core/snapshot/store_thread.hpp"
#include "core/sync/sync_loop.hpp"

namespace sluice::lifecycle {

using RunId = std::uint64_t;  // counts from 1; no two runs of a process have the same

// Artifacts a backend owns, by family_index.
using Claims = std::array<std::vector<std::string>, 2>;

// Whether somebody of both would write what the other one owns; "…*" covers all that begin so.
bool overlap(const Claims& one, const Claims& other);

// Clients bound by session affinity, by family_index.
using BoundClients = std::array<std::vector<plugin::BoundClient>, 2>;

class BackendRun {
 public:
  using Meanwhile = std::function<bool()>;  // whether to go on waiting
  using Limit = std::chrono::milliseconds;

  struct Settings {
    RunId id = 0;
    std::shared_ptr<const plugin::Plugin> plugin;
    std::vector<base::Family> families;
    std::array<plugin::BackendSettings, 2> backend;  // by family_index
    sync::SyncLoop::Options loop;
  };
  // What the loops of a family tell, and to whom; the threads are those of SyncLoop::Callbacks
  // and HostCallbacks. All may be empty. Must outlive the run.
  struct Callbacks {
    std::function<void(RunId, base::Family, const std::vector<std::string>&)> claims{};
    std::function<void(RunId, base::Family, const snapshot::Transaction&)> applied{};
    std::function<void(RunId, base::Family, const sync::SyncReport&)> synced{};
    std::function<void(RunId, const plugin::FailedServicePort&)> left_out{};
    std::function<void(const std::string& backend, abi::Severity, const std::string& reason, const std::string& note,
                       const std::optional<plugin::ServicePortName>& regarding)>
        event{};
    std::function<void(RunId, base::Family, plugin::RelayedPort)> relays{};
    std::function<std::shared_ptr<plugin::DescriptorStore>(const std::string& id, base::Family)> descriptors{};
    // SyncLoop::OnStarting.
    std::function<void(RunId, base::Family, std::string_view call)> starting{};
  };

  // `metrics` may be null; it and `clock` outlive the run.
  BackendRun(Settings settings, Callbacks callbacks, plugin::MetricSink* metrics, const base::Clock& clock);
  ~BackendRun();  // stops
  BackendRun(const BackendRun&) = delete;
  BackendRun& operator=(const BackendRun&) = delete;

  // Makes and probes the backend in all families at once; what came of it, by family_index. A family that failed
  // is no longer one of this run, but for one that did not answer in time. Ok for a family that is not of this run.
  // Called once.
  std::array<base::Status, 2> start(Limit at_most);
  // Opens a feed for each family. The store outlives the run, or its stop(). Called once, after start().
  void feed(snapshot::StoreThread& store, snapshot::FactsOf facts = snapshot::FactsOf::in_force);
  // Nothing is taken any more.
  void close_feeds();
  // Releases the backend; kernel state stays. Waits for the calls in progress.
  void stop();

  RunId id() const { return settings_.id; }
  const Settings& settings() const { return settings_; }
  const plugin::Plugin& plugin() const { return *settings_.plugin; }
  std::shared_ptr<const plugin::Plugin> shared_plugin() const { return settings_.plugin; }
  struct PerFamily {
    base::Family family = base::Family::ipv4;
    std::unique_ptr<sync::SyncLoop> loop;
    std::atomic<snapshot::FeedId> feed{0};
    std::shared_future<base::Status> probe{};
  };
  // The same from start() on, until the run ends.
  const std::vector<std::unique_ptr<PerFamily>>& families() const { return families_; }
  bool has(base::Family family) const;

  // Each waits for all families, and `at_most` altogether; while it waits it calls `meanwhile` (may be empty) every few
  // milliseconds. A family that does not answer in time is a failure that says so. The first failure, with the backend
  // in front.
  base::Status hold(Limit at_most, const Meanwhile& meanwhile = {});
  void resume();
  base::Result<Claims> claims(Limit at_most);
  base::Status apply_full(Limit at_most, const Meanwhile& meanwhile = {});
  base::Status verify(Limit at_most, const Meanwhile& meanwhile = {});
  // kOk when it is of all families, kRetry when the others of them drain.
  plugin::Outcome retire(const Claims& of_successor, std::chrono::seconds drain, Limit at_most,
                         const Meanwhile& meanwhile = {});
  // kUnsupported, too, is a failure here.
  base::Result<BoundClients> export_clients(Limit at_most);
  base::Status import_clients(const BoundClients& clients, Limit at_most);
  void set_intervals(const sync::SyncLoop::Options& options);

  // Whether a call is in progress that hold(), claims() and so on would wait for.
  bool busy() const;
  // Everything that was taken is in the kernel, in all families.
  bool synced() const;
  // How long the oldest change waits for the kernel.
  base::Clock::Duration pending_for() const;

 private:
  sync::SyncLoop::Callbacks loop_callbacks(PerFamily& family);
  template <class T, class Ask>
  std::vector<std::pair<const PerFamily*, std::optional<T>>> ask(Limit at_most, const Meanwhile& meanwhile, Ask&& ask);

  const Settings settings_;
  const Callbacks callbacks_;
  plugin::MetricSink* const metrics_;
  const base::Clock& clock_;
  std::atomic<snapshot::StoreThread*> store_{nullptr};
  std::vector<std::unique_ptr<PerFamily>> families_;
};

}  // namespace sluice::lifecycle

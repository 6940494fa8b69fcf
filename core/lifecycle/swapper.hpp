// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Swaps one backend for another without interrupting traffic (make before break). The new
// backend is loaded, probed and synced while the old backend serves; then the old backend
// retires. A failure removes the new backend, and the old backend stays active.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/config/settings.hpp"
#include "core/lifecycle/backend_run.hpp"
#include "core/lifecycle/retirement.hpp"
#include "core/lifecycle/step.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::lifecycle {

// [thread of the swap] Called at steps of one swap.
class SwapHooks {
 public:
  virtual ~SwapHooks() = default;
  // After the plugin was loaded, while the old backend serves: makes the source list with the details that the new
  // backend asks for, and waits until it has. `keep_waiting` returns false to abort the wait.
  virtual lib::Status provide_details(const plugin::Plugin& plugin, const BackendRun::KeepWaiting& keep_waiting) = 0;
  // Before the new backend subscribes: provides the objects that its plugin needs, such as ServiceCIDRs.
  virtual void before_subscribe(const plugin::Plugin& plugin) = 0;
};

struct SwapResult {
  lib::Status status;            // ok: the new backend serves
  std::optional<Step> failed_at;  // if not ok
  std::string from;
  std::string to;
  double seconds = 0;                // duration of the swap without the drain
  double longest_wait_seconds = 0;   // maximum age of a pending change during the swap
  std::vector<std::string> remarks;  // warnings, without a full stop
  std::chrono::system_clock::time_point at;
};

struct SwapProgress {
  std::optional<Step> step;  // nothing: no swap is in progress
  std::string from;
  std::string to;
  std::chrono::system_clock::time_point since;
  std::optional<SwapResult> last;
};

class Swapper {
 public:
  struct Timeouts {
    BackendRun::Timeout probe{std::chrono::seconds(30)};
    BackendRun::Timeout call{std::chrono::seconds(15)};
    BackendRun::Timeout apply{std::chrono::seconds(90)};
    BackendRun::Timeout retire{std::chrono::seconds(90)};
  };
  // Called on the thread of swap().
  class Host {
   public:
    virtual ~Host() = default;
    // Loads the plugin of the new backend; called once, as the first step.
    virtual lib::Result<std::shared_ptr<const plugin::Plugin>> load(const config::Settings& to) = 0;
    // The settings of the new run, without plugin and families; called after load().
    virtual lib::Result<BackendRun::Settings> run_settings(const config::Settings& to) = 0;
    // Makes the new run, with the next id.
    virtual std::shared_ptr<BackendRun> make(BackendRun::Settings settings) = 0;
    virtual std::shared_ptr<BackendRun> active_run() const = 0;
    // Records the claims of the new backend before it writes. If this fails, it must not write.
    virtual lib::Status record_arriving(const BackendRun& run, const Claims& claims) = 0;
    // Makes the new backend active.
    virtual void serve(std::shared_ptr<BackendRun> run, const Claims& claims) = 0;
    // Records that the old backend retires and drains until `until`.
    virtual void record_retiring(const BackendRun& run, const Claims& claims,
                                 std::chrono::system_clock::time_point until) = 0;
    // Deletes the record of the new backend, which never served and has no kernel state.
    virtual void forget_arriving(const BackendRun& run) = 0;
  };

  // All must outlive it.
  Swapper(Timeouts timeouts, Host& host, Retirement& retirement, const lib::Clock& clock);

  // Replaces the active backend by the one that `to` configures. Blocks until the new backend is active and retire() of
  // the old backend was called, or the swap is rolled back. One at a time.
  SwapResult swap(const config::Settings& to, SwapHooks& hooks);

  SwapProgress progress() const;  // any thread
  // [any thread] Aborts a swap in progress without a rollback; the next process removes the state of the new backend.
  void stop() { stopping_ = true; }

 private:
  class Attempt;
  void enter(Step step);

  const Timeouts timeouts_;
  Host& host_;
  Retirement& retirement_;
  const lib::Clock& clock_;
  std::atomic<bool> stopping_{false};
  mutable lib::Mutex mutex_;
  SwapProgress progress_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Swaps one backend for another without interrupting traffic (make before break). The new
// backend is loaded, probed and synced while the old backend serves; then the old backend
// retires. A failure removes the new backend, and the old backend stays active.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/lifecycle/backend_run.hpp"
#include "core/lifecycle/retirement.hpp"
#include "core/lifecycle/step.hpp"
#include "lib/clock.hpp"

namespace sluice::lifecycle {

struct SwapRequest {
  std::string to;  // id of the new backend, for messages
  // Loads the plugin of the new backend; called once, as the first step.
  std::function<lib::Result<std::shared_ptr<const plugin::Plugin>>()> load;
  // The settings except id, families and plugin; called after load.
  std::function<lib::Result<BackendRun::Settings>(const plugin::Plugin&)> settings;
  lib::Clock::Duration drain{};  // drain timeout of the old backend
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
  struct Hooks {
    snapshot::StoreThread* store = nullptr;
    std::function<RunId()> next_id;
    BackendRun::Callbacks run;
    plugin::MetricSink* metrics = nullptr;
    // The active backend.
    std::function<std::shared_ptr<BackendRun>()> serving;
    // Records the claims of the new backend before it writes. If this fails, it must not write.
    std::function<lib::Status(const BackendRun&, const Claims&)> arriving;
    // Makes the new backend active.
    std::function<void(std::shared_ptr<BackendRun>, const Claims&)> serve;
    // Records that the old backend retires and drains until `until`.
    std::function<void(const BackendRun&, const Claims&, std::chrono::system_clock::time_point until)> retiring;
    // The new backend never served, and its kernel state is removed.
    std::function<void(const BackendRun&)> undone;
    // Provides the objects that the plugin needs before it subscribes.
    std::function<void(const plugin::Plugin&)> before_subscribe;
  };

  Swapper(Timeouts timeouts, Hooks hooks, Retirement& retirement, const lib::Clock& clock);

  // Blocks until the new backend is active and retire() of the old backend was called, or the swap is rolled back. One
  // at a time.
  SwapResult swap(const SwapRequest& request);

  SwapProgress progress() const;  // any thread
  // [any thread] Aborts a swap in progress without a rollback; the next process removes the state of the new backend.
  void stop() { stopping_ = true; }

 private:
  class Attempt;
  void enter(Step step);

  const Timeouts timeouts_;
  const Hooks hooks_;
  Retirement& retirement_;
  const lib::Clock& clock_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  SwapProgress progress_;  // under mutex_
};

}  // namespace sluice::lifecycle

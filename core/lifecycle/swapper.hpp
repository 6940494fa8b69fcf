// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The exchange of one backend for another while traffic flows: make before break. The
// newcomer is loaded, tried and filled while the other one serves; only then the other one
// retires. A failure on the way removes the newcomer, and who served goes on.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/lifecycle/backend_run.hpp"
#include "core/lifecycle/retirement.hpp"
#include "core/lifecycle/step.hpp"

namespace sluice::lifecycle {

struct SwapRequest {
  std::string to;  // the id of the newcomer, for messages
  // The library of the newcomer; asked once, as the first step.
  std::function<base::Result<std::shared_ptr<const plugin::Plugin>>()> load;
  // Everything but id, families and the plugin; asked when there is the library.
  std::function<base::Result<BackendRun::Settings>(const plugin::Plugin&)> settings;
  base::Clock::Duration drain{};  // how long connections may live on in the one that served
};

struct SwapResult {
  base::Status status;            // ok: the new backend serves
  std::optional<Step> failed_at;  // when not ok
  std::string from;
  std::string to;
  double seconds = 0;                // until the newcomer served, and the other one was told to retire
  double longest_wait_seconds = 0;   // of a change for the kernel, during the swap
  std::vector<std::string> remarks;  // what is worth telling, without a full stop
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
  struct Limits {
    BackendRun::Limit probe{std::chrono::seconds(30)};
    BackendRun::Limit call{std::chrono::seconds(15)};
    BackendRun::Limit apply{std::chrono::seconds(90)};
    BackendRun::Limit retire{std::chrono::seconds(90)};
  };
  // What the rest of the daemon does for a swap. Called on the thread of swap().
  struct Surroundings {
    snapshot::StoreThread* store = nullptr;
    std::function<RunId()> next_id;
    BackendRun::Callbacks run;
    plugin::MetricSink* metrics = nullptr;
    // Who serves now.
    std::function<std::shared_ptr<BackendRun>()> serving;
    // Before a run writes anything: what it is going to own is written down. Not ok: it must not write.
    std::function<base::Status(const BackendRun&, const Claims&)> arriving;
    // It serves from now on, instead of the other one.
    std::function<void(std::shared_ptr<BackendRun>, const Claims&)> serve;
    // It serves no longer, and is gone at that time at the latest.
    std::function<void(const BackendRun&, const Claims&, std::chrono::system_clock::time_point until)> retiring;
    // It never served, and nothing of it is left.
    std::function<void(const BackendRun&)> undone;
    // Before somebody is fed: what its plugin wants to be told is provided.
    std::function<void(const plugin::Plugin&)> before_feed;
  };

  Swapper(Limits limits, Surroundings surroundings, Retirement& retirement, const base::Clock& clock);

  // Blocks until the newcomer serves and the other one has been told to retire, or all is as before. One at a time.
  SwapResult swap(const SwapRequest& request);

  SwapProgress progress() const;  // any thread
  // [any thread] The process ends: a swap that goes on gives up soon, and what has arrived of it is left for the next
  // one.
  void stop() { stopping_ = true; }

 private:
  class Attempt;
  void enter(Step step);

  const Limits limits_;
  const Surroundings around_;
  Retirement& retirement_;
  const base::Clock& clock_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  SwapProgress progress_;  // under mutex_
};

}  // namespace sluice::lifecycle

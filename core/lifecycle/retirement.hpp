// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Backends that serve no longer, until they are gone: each is asked to retire again and
// again, while connections live on in it, until its time is over. On a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.hpp"
#include "core/lifecycle/backend_run.hpp"

namespace sluice::lifecycle {

class Retirement {
 public:
  struct Options {
    base::Clock::Duration between{std::chrono::milliseconds(500)};
    BackendRun::Limit call{std::chrono::seconds(90)};
    // How long before the time of one who drains is over this is said.
    base::Clock::Duration last_moments{std::chrono::seconds(2)};
    // How long after its time somebody is asked again who fails.
    base::Clock::Duration patience{std::chrono::minutes(10)};
    // The longest time after `until` that Callbacks::settled delays a backend.
    base::Clock::Duration settling{std::chrono::seconds(10)};
    // The longest wait for the last users of a library before it is unmapped without this thread. Other backends are
    // not asked meanwhile, and stop() waits for it.
    std::chrono::milliseconds last_users{std::chrono::seconds(1)};
  };
  struct Entry {
    std::shared_ptr<BackendRun> run;
    base::Clock::Time until;  // when connections end
    bool undo = false;        // it has never served: what it wrote is taken back
    // Not asked before everything that this one wants to write is in the kernel; null: asked at once.
    std::shared_ptr<BackendRun> after{};
    std::string error{};  // of the last time, or empty
    bool ending = false;  // it was said that its time is nearly over
  };
  struct Callbacks {
    // Its connections end in a moment: what can go on elsewhere may be moved.
    std::function<void(const Entry&)> ending{};
    // False delays the next retire(): tracked flows still lead to the backend, and the daemon is deleting them.
    std::function<bool(const Entry&)> settled{};
    // It is gone, stopped and not in list(); `clean` is false when it was given up with something left.
    std::function<void(const Entry&, bool clean)> gone{};
  };

  Retirement(Options options, Callbacks callbacks, const base::Clock& clock);
  ~Retirement();  // stops

  void start();
  // Backends are released and stay as they are in the kernel; the next process goes on.
  void stop();

  // [any thread] What who serves owns, and nobody may remove.
  void set_successor(Claims claims);
  Claims successor() const;  // any thread
  // [any thread] From now on it is asked. REQUIRES: held, and without feeds.
  void add(Entry entry);
  // [any thread] As long as the lock is held nobody is asked; waits for the call in progress.
  std::unique_lock<std::mutex> pause() { return std::unique_lock(asking_); }
  // [any thread] For status.
  std::vector<Entry> list() const;

 private:
  void run();
  // Runs that are gone; nothing: the daemon is ending.
  std::optional<std::vector<std::shared_ptr<BackendRun>>> ask_all();
  bool ask(Entry& entry);
  void release(const Entry& entry, bool clean);
  void unload(std::shared_ptr<BackendRun> run);

  const Options options_;
  const Callbacks callbacks_;
  const base::Clock& clock_;
  std::thread thread_;
  std::mutex asking_;  // before mutex_

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> entries_;  // under mutex_
  Claims successor_;            // under mutex_
  bool news_ = false;           // under mutex_
  bool stopping_ = false;       // under mutex_
};

}  // namespace sluice::lifecycle

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Owns the retiring backends. Calls retire() of each repeatedly, on its own thread, while it
// drains its connections, until its drain timeout.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/lifecycle/backend_run.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::lifecycle {

class Retirement {
 public:
  struct Options {
    lib::Clock::Duration interval{std::chrono::milliseconds(500)};
    BackendRun::Timeout call_timeout{std::chrono::seconds(90)};
    // How long before the drain timeout Observer::ending() is called.
    lib::Clock::Duration ending_notice{std::chrono::seconds(2)};
    // How long after the drain timeout a failing retire() is retried.
    lib::Clock::Duration give_up_after{std::chrono::minutes(10)};
    // How long after `until` Observer::settled() may delay retire().
    lib::Clock::Duration settle_timeout{std::chrono::seconds(10)};
    // Maximum wait for the last user of a library; the last user unmaps it after this timeout. The wait blocks the
    // retirement of other backends, and stop().
    std::chrono::milliseconds unload_timeout{std::chrono::seconds(1)};
  };
  struct Entry {
    std::shared_ptr<BackendRun> run;
    lib::Clock::Time until;  // end of the drain
    bool undo = false;        // it has never served: its kernel state is rolled back
    // Delays retire() until this run has synced; null: no delay.
    std::shared_ptr<BackendRun> after_sync_of{};
    std::string error{};  // of the last retire(), or empty
    bool ending = false;  // Observer::ending() was called
  };
  // [thread of the retirement]
  class Observer {
   public:
    virtual ~Observer() = default;
    // The drain timeout is near: flows that can move to another backend may be moved.
    virtual void ending(const Entry&) {}
    // False delays the next retire(): conntrack entries still lead to the backend, and the daemon is deleting them.
    virtual bool settled(const Entry&) { return true; }
    // The run is stopped and not in list(). `clean` is false when the daemon gave up and kernel state is left.
    virtual void gone(const Entry&, bool /*clean*/) {}
  };

  // The observer must outlive it.
  Retirement(Options options, Observer& observer, const lib::Clock& clock);
  ~Retirement();  // stops

  void start();
  // Releases the backends; their kernel state stays for the next process.
  void stop();

  // [any thread] The claims of the active backend, which no retiring backend may remove.
  void set_successor(Claims claims);
  Claims successor() const;  // any thread
  // [any thread] REQUIRES: the run is held and has no subscriptions.
  void add(Entry entry);
  // [any thread] No retire() is called while the caller holds this mutex; to lock it waits for the call in progress.
  lib::Mutex& pause_mutex() SLUICE_RETURN_CAPABILITY(retire_mutex_) { return retire_mutex_; }
  // [any thread] For status.
  std::vector<Entry> list() const;

 private:
  void run();
  // Returns the runs that are gone; nothing when the daemon stops.
  std::optional<std::vector<std::shared_ptr<BackendRun>>> retire_all();
  bool retire_entry(Entry& entry);
  void release(const Entry& entry, bool clean);
  void unload(std::shared_ptr<BackendRun> run);

  const Options options_;
  Observer& observer_;
  const lib::Clock& clock_;
  std::thread thread_;
  lib::Mutex retire_mutex_;  // before mutex_

  mutable lib::Mutex mutex_;
  lib::ConditionVariable wake_;
  std::vector<Entry> entries_ SLUICE_GUARDED_BY(mutex_);
  Claims successor_ SLUICE_GUARDED_BY(mutex_);
  bool added_ SLUICE_GUARDED_BY(mutex_) = false;
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::lifecycle

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Applies a changed configuration while the daemon runs: reads it as at startup, checks that every change can be
// applied live, and lets the concerned parts prepare and commit. All or nothing. One thread; one reload at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/config/problems.hpp"
#include "core/config/settings.hpp"
#include "core/config/settings_cell.hpp"
#include "core/reload/part.hpp"
#include "core/reload/reload_result.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::reload {

// Reads flags and file again. The result is valid only if there is no error among the problems. Values that startup
// detects, the backend in auto mode and the node name, are kept from the running settings.
using ReadSettings = std::function<config::Settings(const config::Settings& running, config::Problems&)>;

// All on the reload thread; any may be empty.
struct ReloadHooks {
  std::function<void()> begun;                            // before the files are read: RELOADING=1
  std::function<void(const ReloadResult& result)> ended;  // after the log lines: READY=1, event, metric
};

class Reloader {
 public:
  // Called once, on the reload thread or, during shutdown, on the thread of stop().
  using Reply = std::function<void(const ReloadResult& result)>;

  // `settings` and `clock` must outlive the reloader.
  Reloader(config::SettingsCell& settings, ReadSettings read, ReloadHooks hooks, const lib::Clock& clock);
  ~Reloader();  // stops
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Parts prepare and commit in the order of these calls. `name` is for the status and sentences: "backend". The part
  // must outlive the reloader. REQUIRES: not started.
  void add(std::string name, ReloadPart& part);
  void start();
  // A running reload ends first; pending requests get "failed".
  void stop();

  // [any thread] Never blocks. Requests before start() are kept. Requests during a reload lead to one more reload.
  void request(std::string trigger);
  // The same; `reply` gets the result of a reload that reads the files after this call.
  void request(std::string trigger, Reply reply);

  ReloadStatus status() const;  // any thread

 private:
  struct Part {
    std::string name;
    ReloadPart* part;
  };

  void run();
  ReloadResult reload();
  ReloadResult apply(const std::shared_ptr<const config::Settings>& from,
                     const std::shared_ptr<const config::Settings>& to);
  void doing(std::string what);

  config::SettingsCell& settings_;
  const ReadSettings read_;
  const ReloadHooks hooks_;
  const lib::Clock& clock_;
  std::vector<Part> parts_;

  mutable lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  std::vector<std::string> triggers_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Reply> replies_ SLUICE_GUARDED_BY(mutex_);
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  ReloadStatus status_ SLUICE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sluice::reload

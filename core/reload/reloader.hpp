// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Takes a changed configuration into force while the daemon runs: reads it as a start
// would, decides whether all of it can be changed live, and has the parts it concerns
// prepare and commit. All or nothing. One thread; one reload at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/config/problems.hpp"
#include "core/config/settings.hpp"
#include "core/config/settings_cell.hpp"
#include "core/reload/part.hpp"
#include "core/reload/reload_result.hpp"

namespace sluice::reload {

// Flags and file, read again; what is wrong goes to the problems, and the value is
// usable only when there is no error among them. What a start finds out for itself, the
// backend of mode auto and the name of the node, stays what is in force.
using ReadSettings = std::function<config::Settings(const config::Settings& in_force, config::Problems&)>;

// All on the reload thread; any may be empty.
struct ReloadHooks {
  std::function<void()> begun;                            // before the files are read: RELOADING=1
  std::function<void(const ReloadResult& result)> ended;  // it is told already in the log: READY=1, event, metric
};

class Reloader {
 public:
  // Called once, on the reload thread or, when stopping, on that of stop().
  using Reply = std::function<void(const ReloadResult& result)>;

  // All outlive it.
  Reloader(config::SettingsCell& settings, ReadSettings read, ReloadHooks hooks, const base::Clock& clock);
  ~Reloader();  // stops
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // In this order they prepare, and in this order they commit. `name` is for status and
  // sentences: "backend". The part outlives the reloader. REQUIRES: not started.
  void add(std::string name, ReloadPart& part);
  void start();
  // The reload that runs goes on to its end first; who still waits gets "failed".
  void stop();

  // [any thread] Never waits. Before start() it is kept. Requests that come while a
  // reload runs lead to one more.
  void request(std::string trigger);
  // The same; `reply` gets the result of a reload that reads the files after this.
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
  const base::Clock& clock_;
  std::vector<Part> parts_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> triggers_;  // under mutex_, as is all that follows
  std::vector<Reply> replies_;
  bool stopping_ = false;
  ReloadStatus status_;
  std::thread thread_;
};

}  // namespace sluice::reload

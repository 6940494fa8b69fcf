// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The event loop of relaycheck: epoll, and one deadline for each handler. One thread.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "netecho_socket.hpp"

namespace relaycheck {

using Clock = std::chrono::steady_clock;

// Set by SIGTERM and SIGINT.
extern volatile std::sig_atomic_t stop_requested;

class Handler {
 public:
  virtual ~Handler() = default;
  virtual void on_events(std::uint32_t events) = 0;
  virtual void on_deadline() {}
};

class Loop {
 public:
  Loop();
  // Returns after stop() or a signal.
  void run();
  void stop() { stopped_ = true; }

  // Adds a descriptor, or changes its events.
  void watch(int fd, std::uint32_t events, Handler& handler, bool fresh);
  // Drops its events of the current batch, too.
  void remove(int fd, Handler& handler);
  // Deletes it after the current batch. REQUIRES: removed, no deadline.
  void retire(std::unique_ptr<Handler> handler) { retired_.push_back(std::move(handler)); }
  // Replaces an earlier deadline; Clock::time_point::max(): no deadline.
  void set_deadline(Handler& handler, Clock::time_point& current, Clock::time_point at);
  Clock::time_point now() const { return now_; }

 private:
  void run_deadlines();

  netecho::Fd epoll_;
  std::set<std::pair<Clock::time_point, Handler*>> deadlines_;
  std::set<Handler*> removed_;  // during the current batch
  std::vector<std::unique_ptr<Handler>> retired_;
  Clock::time_point now_ = Clock::now();
  bool stopped_ = false;
};

}  // namespace relaycheck

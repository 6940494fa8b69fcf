// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The event loop of one relay thread: epoll, timers, and work posted from other threads.
//
// Events allocate no memory. An object that ends while the current batch may still have events for
// it is passed to retire(), which frees it after the batch.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "lib/fd.hpp"
#include "lib/mutex.hpp"
#include "lib/wake_up.hpp"
#include "plugins/userspace/balancer/balancer.hpp"

namespace sluice::userspace {

inline constexpr Nanoseconds kMillisecond = 1'000'000;

class EventLoop;

// Receives the events of the descriptor it was last added with, until it is destroyed. The loop outlives it.
class EventHandler {
 public:
  EventHandler() = default;
  EventHandler(const EventHandler&) = delete;
  EventHandler& operator=(const EventHandler&) = delete;
  inline virtual ~EventHandler();
  virtual void on_events(std::uint32_t events) noexcept = 0;

 private:
  friend class EventLoop;
  EventLoop* loop_ = nullptr;  // the loop it was added to
  std::uint32_t slot_ = 0;
};

// Fires once at its deadline. Disarms itself when destroyed.
class Timer : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual void on_timer() noexcept = 0;
  Nanoseconds deadline() const noexcept { return deadline_; }
  bool armed() const noexcept { return is_linked(); }
  void disarm() noexcept { unlink(); }
  friend bool operator<(const Timer& a, const Timer& b) noexcept { return a.deadline_ < b.deadline_; }

  virtual ~Timer() = default;

 private:
  friend class EventLoop;
  Nanoseconds deadline_ = 0;
};

// Base of objects for retire().
class Retired {
 public:
  virtual ~Retired() = default;

 private:
  friend class EventLoop;
  Retired* next_retired_ = nullptr;
};

class EventLoop {
 public:
  EventLoop();   // throws std::system_error
  ~EventLoop();  // REQUIRES: not running
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs until stop(). The calling thread becomes the thread of the loop.
  void run() noexcept;

  // Any thread. Runs `work` on the thread of the loop, in the order of the calls.
  void post(std::function<void()> work);
  void stop();
  // REQUIRES: not running. run() may be called again after stop().
  void rearm() noexcept { stopping_ = false; }

  // The following: only on the thread of the loop, or before it runs.

  // 0 or an errno. Closing the descriptor removes it, unless another process has a duplicate: then the handler may
  // still receive events of it, until it is added with another descriptor.
  [[nodiscard]] int add(int fd, std::uint32_t events, EventHandler* handler) noexcept;
  void remove(int fd) noexcept;

  // Replaces the deadline of an armed timer.
  void arm(Timer& timer, Nanoseconds deadline) noexcept;

  // Frees `object` after the current batch of events.
  void retire(std::unique_ptr<Retired> object) noexcept;

  // Monotonic time at the start of the current batch.
  Nanoseconds now() const noexcept { return now_; }
  static Nanoseconds clock() noexcept;

 private:
  friend class EventHandler;
  static constexpr int kBatch = 256;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  // Events carry a slot and its generation instead of a pointer. Between fork() and exec() a child has copies of all
  // descriptors, so epoll still reports one that the daemon has closed, although its handler may be gone.
  struct Slot {
    EventHandler* handler = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNoSlot;
  };
  struct OnWakeUp final : EventHandler {
    explicit OnWakeUp(EventLoop& owner) noexcept : loop(owner) {}
    void on_events(std::uint32_t events) noexcept override;
    EventLoop& loop;
  };

  void deliver(const epoll_event& event) noexcept;
  void forget(std::uint32_t slot) noexcept;
  void run_posted() noexcept;
  void run_timers() noexcept;
  void free_retired() noexcept;
  int epoll_timeout() const noexcept;  // milliseconds until the next deadline; -1: none

  std::vector<Slot> slots_;
  std::uint32_t free_slots_ = kNoSlot;
  lib::Fd epoll_;
  lib::WakeUp wake_up_;
  OnWakeUp on_wake_up_{*this};
  Nanoseconds now_;
  bool stopping_ = false;
  boost::intrusive::multiset<Timer, boost::intrusive::constant_time_size<false>> timers_;
  Retired* retired_ = nullptr;
  lib::Mutex mutex_;
  std::vector<std::function<void()>> posted_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::function<void()>> running_;  // thread of the loop only
};

EventHandler::~EventHandler() {
  if (loop_ != nullptr) loop_->forget(slot_);
}

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One thread of the relays: epoll, timers, and work handed over from other threads.
//
// Handlers are plain objects with a function; nothing is allocated for an event. An
// object that ends while events for it may still be in hand goes through retire(), which
// frees it after the batch.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/descriptor.hpp"

namespace sluice::userspace {

inline constexpr Nanoseconds kMillisecond = 1'000'000;

class EventLoop;

// What epoll calls. Hears of the descriptor it was added with last, until it ends itself. The loop outlives it.
class EventHandler {
 public:
  EventHandler() = default;
  EventHandler(const EventHandler&) = delete;
  EventHandler& operator=(const EventHandler&) = delete;
  inline virtual ~EventHandler();
  virtual void on_events(std::uint32_t events) noexcept = 0;

 private:
  friend class EventLoop;
  EventLoop* loop_ = nullptr;  // that it was added to
  std::uint32_t slot_ = 0;
};

// Fires once at its deadline. Unlinks itself when it ends.
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

// Base of what retire() takes.
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

  // Until stop(). The thread that calls it is the loop's thread from then on.
  void run() noexcept;

  // Any thread. `work` runs on the loop's thread, in the order it was given.
  void post(std::function<void()> work);
  void stop();

  // The rest: the loop's thread only (or no thread runs it yet).

  // 0 or an errno. Closing the descriptor removes it, unless somebody has a duplicate of it. From then on the handler
  // may still hear of it, but not any more when it was added with another one.
  [[nodiscard]] int add(int fd, std::uint32_t events, EventHandler* handler) noexcept;
  void remove(int fd) noexcept;

  // Replaces an earlier deadline of the same timer.
  void arm(Timer& timer, Nanoseconds deadline) noexcept;

  // Frees `object` after the events in hand.
  void retire(std::unique_ptr<Retired> object) noexcept;

  // Monotonic; as of the beginning of the batch in hand.
  Nanoseconds now() const noexcept { return now_; }
  static Nanoseconds clock() noexcept;

 private:
  friend class EventHandler;
  static constexpr int kBatch = 256;
  static constexpr std::uint32_t kNoSlot = ~std::uint32_t{0};
  // Events name a slot and its generation, not the handler: while a program is being started, the new process has
  // copies of all descriptors, and one that we have closed is still watched, though its handler may be gone.
  struct Slot {
    EventHandler* handler = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNoSlot;
  };
  struct Wake final : EventHandler {
    explicit Wake(EventLoop& owner) noexcept : loop(owner) {}
    void on_events(std::uint32_t events) noexcept override;
    EventLoop& loop;
  };

  void deliver(const epoll_event& event) noexcept;
  void forget(std::uint32_t slot) noexcept;
  void run_posted() noexcept;
  void run_timers() noexcept;
  void free_retired() noexcept;
  int patience() const noexcept;  // milliseconds until the next deadline; -1: for ever

  std::vector<Slot> slots_;
  std::uint32_t free_slots_ = kNoSlot;
  Descriptor epoll_;
  Descriptor wake_fd_;
  Wake wake_{*this};
  Nanoseconds now_;
  bool stopping_ = false;
  boost::intrusive::multiset<Timer, boost::intrusive::constant_time_size<false>> timers_;
  Retired* retired_ = nullptr;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::vector<std::function<void()>> running_;
};

EventHandler::~EventHandler() {
  if (loop_ != nullptr) loop_->forget(slot_);
}

}  // namespace sluice::userspace

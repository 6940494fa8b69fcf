// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A bounded queue between threads: several producers, one consumer.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "lib/clock.hpp"

namespace sluice::lib {

template <class T>
class HandoverQueue {
 public:
  // put() blocks while `limit` values wait, which slows the network reader instead of growing memory. 0 = no limit.
  explicit HandoverQueue(std::size_t limit = 0) : limit_(limit) {}

  // False after close(): the value is dropped.
  bool put(T value) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || limit_ == 0 || items_.size() < limit_; });
    if (closed_) return false;
    items_.push_back(std::move(value));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Returns all queued values. Blocks until there is one, `deadline` passes (empty result) or the queue is closed.
  std::deque<T> take_all(Clock::Time deadline = Clock::Time::max()) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return closed_ || !items_.empty(); };
    if (deadline == Clock::Time::max()) {
      filled_.wait(lock, ready);
    } else {
      filled_.wait_until(lock, deadline, ready);
    }
    std::deque<T> out;
    out.swap(items_);
    lock.unlock();
    room_.notify_all();
    return out;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
    room_.notify_all();
  }
  std::size_t size() const {  // any thread
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable room_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace sluice::lib

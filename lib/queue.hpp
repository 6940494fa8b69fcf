// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A bounded queue between threads: several producers, one consumer.
#pragma once

#include <deque>
#include <utility>

#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::lib {

template <class T>
class HandoverQueue {
 public:
  // put() blocks while `limit` values wait, which slows the network reader instead of growing memory. 0 = no limit.
  explicit HandoverQueue(std::size_t limit = 0) : limit_(limit) {}

  // False after close(): the value is dropped.
  bool put(T value) {
    UniqueLock lock(mutex_);
    while (!closed_ && limit_ != 0 && items_.size() >= limit_) room_.wait(mutex_);
    if (closed_) return false;
    items_.push_back(std::move(value));
    lock.unlock();
    filled_.notify_one();
    return true;
  }

  // Returns all queued values. Blocks until there is one, `deadline` passes (empty result) or the queue is closed.
  std::deque<T> take_all(Clock::Time deadline = Clock::Time::max()) {
    UniqueLock lock(mutex_);
    while (!closed_ && items_.empty()) {
      if (deadline == Clock::Time::max()) {
        filled_.wait(mutex_);
      } else if (!filled_.wait_until(mutex_, deadline)) {
        break;
      }
    }
    std::deque<T> out;
    out.swap(items_);
    lock.unlock();
    room_.notify_all();
    return out;
  }

  void close() {
    {
      const Lock lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
    room_.notify_all();
  }
  std::size_t size() const {  // any thread
    const Lock lock(mutex_);
    return items_.size();
  }
  bool closed() const {
    const Lock lock(mutex_);
    return closed_;
  }

 private:
  const std::size_t limit_;
  mutable Mutex mutex_;
  ConditionVariable filled_;
  ConditionVariable room_;
  std::deque<T> items_ SLUICE_GUARDED_BY(mutex_);
  bool closed_ SLUICE_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::lib

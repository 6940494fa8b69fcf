// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Ends poll() or epoll_wait() of another thread.
#pragma once

#include <errno.h>
#include <sys/eventfd.h>

#include "lib/fd.hpp"

namespace sluice::lib {

class WakeUp {
 public:
  // 0 or an errno. REQUIRES: no other thread uses this object.
  [[nodiscard]] int open() noexcept {
    eventfd_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return eventfd_.valid() ? 0 : errno;
  }
  bool valid() const noexcept { return eventfd_.valid(); }
  // Readable from signal() until drain(); -1 before open(), which poll() skips.
  int descriptor() const noexcept { return eventfd_.get(); }

  // Any thread. Cannot fail after open(): the counter is far from its limit.
  void signal() const noexcept { ::eventfd_write(eventfd_.get(), 1); }
  // Whether there was a signal since the last call.
  bool drain() const noexcept {
    eventfd_t count = 0;
    return ::eventfd_read(eventfd_.get(), &count) == 0;
  }

 private:
  Fd eventfd_;
};

}  // namespace sluice::lib

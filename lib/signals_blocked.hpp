// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Only the main thread of the daemon handles signals.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace sluice::lib {

// Blocks all signals in the current thread, and in threads started from it, during its lifetime.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace sluice::lib

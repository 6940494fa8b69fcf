// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Signals are for the daemon: no thread of a backend takes one.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace sluice::process {

// Threads begun while it lives take no signals.
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

}  // namespace sluice::process

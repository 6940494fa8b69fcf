// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rate limit of a client: a token bucket, shared by all its users (BEH 1.6). A watch takes one token when it is
// established, each page of a list takes one.
//
// TokenBucket is not thread-safe, RequestBudget is.
#pragma once

#include <optional>

#include "core/kube/http/transport.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

struct RequestBudgetOptions {
  double qps = 5;  // tokens per second; 0 = the default, negative = no limit
  int burst = 10;  // size of the bucket; 0 = the default
};

class TokenBucket {
 public:
  // Full at first. REQUIRES: qps > 0, burst > 0.
  TokenBucket(double qps, int burst, lib::Clock::Time now)
      : qps_(qps), burst_(burst), tokens_(burst), counted_at_(now) {}

  // Takes a token, reserving a future one if the bucket is empty, and returns the time until it is available.
  lib::Clock::Duration take(lib::Clock::Time now);

 private:
  const double qps_;
  const double burst_;
  double tokens_;
  lib::Clock::Time counted_at_;
};

class RequestBudget {
 public:
  // The clock must outlive the budget.
  RequestBudget(const RequestBudgetOptions& options, const lib::Clock& clock);

  // [any thread] Waits until the request may be sent. False if stop() was called first.
  bool wait(const Request& request);
  // [any thread] Ends all waits, including later ones.
  void stop();

 private:
  void log_wait(lib::Clock::Duration delay, const Request& request, lib::Clock::Time now) SLUICE_REQUIRES(mutex_);

  const lib::Clock& clock_;
  lib::Mutex mutex_;
  lib::ConditionVariable stop_changed_;
  bool stopped_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<TokenBucket> bucket_ SLUICE_GUARDED_BY(mutex_);  // absent = no limit
  std::optional<lib::Clock::Time> logged_at_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube

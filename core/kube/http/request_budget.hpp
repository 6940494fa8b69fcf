// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A transport with a rate limit: a token bucket in front of another transport, shared by all its users (BEH 1.6). A
// watch takes one token when it is established, each page of a list takes one.
//
// TokenBucket is not thread-safe, RequestBudget is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/kube/http/request_observer.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/clock.hpp"

namespace sluice::kube {

struct RequestBudgetOptions {
  double qps = 5;                       // tokens per second; 0 = the default, negative = no limit
  int burst = 10;                       // size of the bucket; 0 = the default
  RequestObserver* observer = nullptr;  // receives each wait; may be null, must outlive the budget
  std::string host{};                   // passed to the observer
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

class RequestBudget final : public Transport {
 public:
  // The clock must outlive the budget.
  RequestBudget(std::unique_ptr<Transport> transport, RequestBudgetOptions options, const lib::Clock& clock);

  lib::Status send(const Request& request, ResponseSink& sink) override;
  void stop() override;
  std::string server() const override { return transport_->server(); }

 private:
  // False if stop() was called first.
  bool wait_for_token(const Request& request);
  void log_wait(lib::Clock::Duration delay, const Request& request, lib::Clock::Time now);

  const std::unique_ptr<Transport> transport_;
  const lib::Clock& clock_;
  RequestObserver* const observer_;
  const std::string host_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stopped_ = false;
  std::optional<TokenBucket> bucket_;  // absent = no limit
  std::optional<lib::Clock::Time> logged_at_;
};

}  // namespace sluice::kube

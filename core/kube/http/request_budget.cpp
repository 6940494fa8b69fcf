// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/request_budget.hpp"

#include <algorithm>
#include <string>

#include "core/base/log_messages.hpp"

namespace sluice::kube {
namespace {

constexpr auto kNoticeable = std::chrono::seconds(1);
constexpr auto kLogInterval = std::chrono::hours(1);

std::optional<TokenBucket> make_bucket(const RequestBudgetOptions& options, lib::Clock::Time now) {
  const RequestBudgetOptions kDefault;
  if (options.qps < 0) return std::nullopt;
  return TokenBucket(options.qps == 0 ? kDefault.qps : options.qps, options.burst > 0 ? options.burst : kDefault.burst,
                     now);
}

}  // namespace

lib::Clock::Duration TokenBucket::take(lib::Clock::Time now) {
  const std::chrono::duration<double> passed = now - counted_at_;
  counted_at_ = now;
  tokens_ = std::min(burst_, tokens_ + passed.count() * qps_) - 1;
  if (tokens_ >= 0) return lib::Clock::Duration::zero();
  // Bounded to a day, so that a tiny rate does not overflow.
  constexpr std::chrono::duration<double> kLongest = std::chrono::hours(24);
  return std::chrono::duration_cast<lib::Clock::Duration>(
      std::min(kLongest, std::chrono::duration<double>(-tokens_ / qps_)));
}

RequestBudget::RequestBudget(const RequestBudgetOptions& options, const lib::Clock& clock)
    : clock_(clock), bucket_(make_bucket(options, clock.now())) {}

void RequestBudget::stop() {
  {
    const lib::Lock lock(mutex_);
    stopped_ = true;
  }
  stop_changed_.notify_all();
}

bool RequestBudget::wait(const Request& request) {
  const lib::Lock lock(mutex_);
  if (!bucket_ || stopped_) return !stopped_;
  const auto now = clock_.now();
  const auto delay = bucket_->take(now);
  if (delay > kNoticeable) log_wait(delay, request, now);
  const auto until = std::chrono::steady_clock::now() + delay;
  while (!stopped_ && stop_changed_.wait_until(mutex_, until)) {
  }
  return !stopped_;
}

void RequestBudget::log_wait(lib::Clock::Duration delay, const Request& request, lib::Clock::Time now) {
  if (logged_at_ && now - *logged_at_ < kLogInterval) return;
  logged_at_ = now;
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count() / 100;
  base::log(base::message::kRequestLimitWait,
            "requests to the API server wait for the client's own limit: " + request.method + " " + request.path +
                " by " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                " s; raise the client connection's qps and burst if this goes on",
            {{"path", request.path}});
}

}  // namespace sluice::kube

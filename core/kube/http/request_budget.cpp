// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/request_budget.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/log.hpp"

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

RequestBudget::RequestBudget(std::unique_ptr<Transport> transport, RequestBudgetOptions options,
                             const lib::Clock& clock)
    : transport_(std::move(transport)), clock_(clock), observer_(options.observer), host_(options.host),
      bucket_(make_bucket(options, clock.now())) {}

lib::Status RequestBudget::send(const Request& request, ResponseSink& sink) {
  const auto begin = clock_.now();
  if (!wait_for_token(request)) return {lib::StatusCode::unavailable, "stopped", ECANCELED};
  if (observer_ != nullptr) {
    observer_->waited(host_, request.method, std::chrono::duration<double>(clock_.now() - begin).count());
  }
  return transport_->send(request, sink);
}

void RequestBudget::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_changed_.notify_all();
  transport_->stop();
}

bool RequestBudget::wait_for_token(const Request& request) {
  std::unique_lock lock(mutex_);
  if (!bucket_ || stopped_) return !stopped_;
  const auto now = clock_.now();
  const auto delay = bucket_->take(now);
  if (delay > kNoticeable) log_wait(delay, request, now);
  return !stop_changed_.wait_for(lock, delay, [this] { return stopped_; });
}

void RequestBudget::log_wait(lib::Clock::Duration delay, const Request& request, lib::Clock::Time now) {
  if (logged_at_ && now - *logged_at_ < kLogInterval) return;
  logged_at_ = now;
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(delay).count() / 100;
  base::log_warning("kube", "requests to the API server wait for the client's own limit: " + request.method + " " +
                                request.path + " by " + std::to_string(tenths / 10) + "." +
                                std::to_string(tenths % 10) +
                                " s; raise the client connection's qps and burst if this goes on");
}

}  // namespace sluice::kube

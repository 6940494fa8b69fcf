// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The time that an apply() has, and whether its result is still needed.
#pragma once

#include <chrono>

#include "sluice/abi/host.hpp"
#include "sluice/abi/transaction.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::sdk {

// Any thread may call its methods while the apply() is in progress.
class Deadline {
 public:
  Deadline() noexcept = default;  // no limit, and never cancelled
  // `transaction` must be a copy by sdk::read(), as BackendBase passes it. `host` must outlive this object.
  Deadline(const abi::Transaction& transaction, abi::Host& host) noexcept
      : host_(&host), deadline_(transaction.deadline), cancelled_(transaction.cancelled) {}

  static const Deadline& unlimited() noexcept {
    static const Deadline none;
    return none;
  }

  // Whether the daemon no longer needs the result. Cheap.
  bool cancelled() const noexcept {
    return cancelled_ != nullptr && __atomic_load_n(cancelled_, __ATOMIC_ACQUIRE) != 0;
  }
  // Whether the limit of the call is exceeded.
  bool expired() const noexcept { return deadline_ != 0 && host_->now() >= deadline_; }
  // How long the backend may wait, for example for a lock: until the limit of the call, or nanoseconds::max() without
  // one. Zero if the limit is exceeded or the call is cancelled.
  std::chrono::nanoseconds remaining() const noexcept {
    if (cancelled()) return std::chrono::nanoseconds(0);
    if (deadline_ == 0) return std::chrono::nanoseconds::max();
    const std::uint64_t now = host_->now();
    return std::chrono::nanoseconds(now < deadline_ ? static_cast<std::int64_t>(deadline_ - now) : 0);
  }
  // Call between two steps of an apply(). Throws Failure with kRetry if the call is cancelled.
  void check() const {
    if (cancelled()) throw Failure(abi::Code::kRetry, {}, "cancelled: the daemon no longer needs the result");
  }

 private:
  abi::Host* host_ = nullptr;
  std::uint64_t deadline_ = 0;
  const std::uint32_t* cancelled_ = nullptr;
};

}  // namespace sluice::sdk

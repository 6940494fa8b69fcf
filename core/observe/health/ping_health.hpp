// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// /healthz of the metrics address, with the single check "ping" of Kubernetes' library, which always passes, and its
// request counters under /metrics/slis. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/observe/http/http_message.hpp"

namespace sluice::observe {

class PingHealth {
 public:
  // `query` may have "verbose" and "exclude=NAME".
  HttpResponse answer(std::string_view query);
  // The text of /metrics/slis.
  std::string slis(std::chrono::system_clock::time_point started) const;
  void reset() { passed_ = 0; }

 private:
  std::atomic<std::uint64_t> passed_{0};
};

}  // namespace sluice::observe

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Limits for the clients of one HTTP server.
#pragma once

#include <chrono>
#include <cstddef>

namespace sluice::observe {

struct HttpLimits {
  // A further client displaces the one idle for longest. All servers of the daemon together
  // stay below half of 1024 descriptors, the usual limit of a process.
  std::size_t max_clients = 128;
  std::size_t header_limit = 8u << 10;              // bytes of a request before its body
  std::size_t body_limit = 4u << 10;                // bytes of a body
  std::size_t answers_limit = 2u << 20;             // bytes of all unsent answers
  std::chrono::milliseconds request_time{10'000};   // from connecting to the end of the first request
  std::chrono::milliseconds idle_time{60'000};      // from an answer to the end of the next request
  std::chrono::milliseconds response_time{10'000};  // for sending one answer
  std::chrono::milliseconds retry{5'000};           // between attempts to open a port
};

}  // namespace sluice::observe

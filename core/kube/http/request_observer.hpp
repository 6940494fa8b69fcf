// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Receives every request to the API server and every use of a connection pool. Any thread; every method must return at
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::kube {

struct AnsweredRequest {
  std::string_view host;  // "10.0.0.1:6443"
  std::string_view method;
  int status = 0;      // HTTP; 0: no answer came
  double seconds = 0;  // until the body was there, or the head of a watch
  bool again = false;  // the same request was sent before, and its answer asked for another try
  // Bytes of the bodies, decompressed. Nothing for a watch; the answer's only when there was one.
  std::optional<std::uint64_t> request_bytes{};
  std::optional<std::uint64_t> answer_bytes{};
};

// Where the connection pool of a request came from.
enum class PoolUse : std::uint8_t {
  hit,         // one that is kept
  miss,        // made and kept
  uncacheable  // made for this request alone
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void answered(const AnsweredRequest& request) = 0;
  // A request waited for the client's own limit, perhaps not at all.
  virtual void waited(std::string_view host, std::string_view method, double seconds) = 0;
  virtual void pool_used(PoolUse use) = 0;
  // So many more connection pools are kept; negative: fewer.
  virtual void pools_kept(int change) = 0;
};

}  // namespace sluice::kube

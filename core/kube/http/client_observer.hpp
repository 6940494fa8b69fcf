// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Receives what an ApiClient does: every request, every use of a connection pool, and the events of its credentials.
// Methods may be called by any thread and must not block.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/kube/access/credential_observer.hpp"

namespace sluice::kube {

struct AnsweredRequest {
  std::string_view host;  // "10.0.0.1:6443"
  std::string_view method;
  int status = 0;      // HTTP; 0: no response
  double seconds = 0;  // until the end of the body, or the head of a watch
  bool again = false;  // a retry that the previous response asked for (Retry-After), or with new credentials
  // Sizes of the bodies, decompressed. Absent for a watch; `answer_bytes` also without a response.
  std::optional<std::uint64_t> request_bytes{};
  std::optional<std::uint64_t> answer_bytes{};
};

// How a request got its connection pool.
enum class PoolUse : std::uint8_t {
  hit,         // reused
  miss,        // created and kept
  uncacheable  // created for this request only
};

class ClientObserver : public CredentialObserver {
 public:
  virtual void answered(const AnsweredRequest& request) = 0;
  // A request waited `seconds` (may be 0) for the client's rate limit.
  virtual void waited(std::string_view host, std::string_view method, double seconds) = 0;
  virtual void pool_used(PoolUse use) = 0;
  // The number of kept connection pools changed by `change`.
  virtual void pools_kept(int change) = 0;
};

}  // namespace sluice::kube

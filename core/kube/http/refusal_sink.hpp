// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Wraps a sink and holds back a 401 response until it is known whether the request is retried. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "core/kube/http/transport.hpp"

namespace sluice::kube {

class RefusalSink final : public ResponseSink {
 public:
  // If `hold` is false, everything is forwarded at once.
  RefusalSink(ResponseSink& next, bool hold) : next_(next), hold_(hold) {}

  lib::Status on_head(const ResponseHead& head) override {
    answered_ = true;
    if (!hold_ || head.status != 401) return next_.on_head(head);
    refusal_ = head;
    return {};
  }
  lib::Status on_body(std::string_view bytes) override {
    if (!refusal_) return next_.on_body(bytes);
    body_ += bytes.substr(0, std::min(bytes.size(), kMaxBody - body_.size()));
    return {};
  }
  std::optional<std::chrono::milliseconds> patience() const override {
    return refusal_ ? std::nullopt : next_.patience();
  }

  bool answered() const { return answered_; }
  bool refused() const { return refusal_.has_value(); }
  // Forwards the 401 that was held back.
  lib::Status deliver() {
    if (auto status = next_.on_head(*refusal_); !status.ok()) return status;
    return body_.empty() ? lib::Status() : next_.on_body(body_);
  }

 private:
  static constexpr std::size_t kMaxBody = 64u << 10;
  ResponseSink& next_;
  const bool hold_;
  bool answered_ = false;
  std::optional<ResponseHead> refusal_;
  std::string body_;
};

}  // namespace sluice::kube

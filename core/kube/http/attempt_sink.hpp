// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sink of one attempt to send a request: forwards the response, holds back a 401 until it is known whether the
// request is repeated, and reports the attempt to the observer. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/kube/http/client_observer.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/clock.hpp"

namespace sluice::kube {

class AttemptSink final : public ResponseSink {
 public:
  // The attempt begins now. `host` is passed to the observer. If `hold` is false, a 401 is forwarded at once. All
  // references must outlive this object.
  AttemptSink(ResponseSink& next, const Request& request, bool hold, const std::string& host, ClientObserver& observer,
              const lib::Clock& clock);
  ~AttemptSink() override { report(); }
  AttemptSink(const AttemptSink&) = delete;
  AttemptSink& operator=(const AttemptSink&) = delete;

  lib::Status on_head(const ResponseHead& head) override;
  lib::Status on_body(std::string_view bytes) override;
  std::optional<std::chrono::milliseconds> patience() const override;

  bool answered() const { return answered_; }
  bool refused() const { return refusal_.has_value(); }
  // Forwards the 401 that was held back.
  lib::Status deliver();
  // Discards the response: another attempt follows.
  void discard();

 private:
  void report();

  ResponseSink& next_;
  const Request& request_;
  const std::string& host_;
  ClientObserver& observer_;
  const lib::Clock& clock_;
  const lib::Clock::Time begun_;
  bool hold_;
  bool answered_ = false;
  std::optional<ResponseHead> refusal_;
  std::string refusal_body_;
  int status_ = 0;  // forwarded, or discarded
  std::uint64_t received_ = 0;
  bool reported_ = false;
};

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/endable.hpp"

#include <errno.h>

namespace sluice::kube {
namespace {

lib::Status ended_status() {
  return {lib::StatusCode::unavailable, "cancelled: the resource is no longer needed", ECANCELED};
}

class Watched final : public ResponseSink {
 public:
  Watched(ResponseSink& next, const std::atomic<bool>& ended) : next_(next), ended_(ended) {}

  lib::Status on_head(const ResponseHead& head) override { return ended_ ? ended_status() : next_.on_head(head); }
  lib::Status on_body(std::string_view bytes) override { return ended_ ? ended_status() : next_.on_body(bytes); }
  std::optional<std::chrono::milliseconds> patience() const override { return next_.patience(); }

 private:
  ResponseSink& next_;
  const std::atomic<bool>& ended_;
};

}  // namespace

lib::Status EndableTransport::send(const Request& request, ResponseSink& sink) {
  if (ended_) return ended_status();
  Watched watched(sink, ended_);
  return next_.send(request, watched);
}

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/attempt_sink.hpp"

#include <algorithm>
#include <utility>

namespace sluice::kube {
namespace {

constexpr int kUnauthorized = 401;
constexpr std::size_t kMaxRefusalBody = 64u << 10;

}  // namespace

AttemptSink::AttemptSink(ResponseSink& next, const Request& request, bool hold, const std::string& host,
                         ClientObserver& observer, const lib::Clock& clock)
    : next_(next),
      request_(request),
      host_(host),
      observer_(observer),
      clock_(clock),
      begun_(clock.now()),
      hold_(hold) {}

lib::Status AttemptSink::on_head(const ResponseHead& head) {
  answered_ = true;
  if (hold_ && head.status == kUnauthorized) {
    refusal_ = head;
    return {};
  }
  status_ = head.status;
  // The end of a watch says nothing about the server.
  if (request_.watch) report();
  return next_.on_head(head);
}

lib::Status AttemptSink::on_body(std::string_view bytes) {
  if (refusal_) {
    refusal_body_ += bytes.substr(0, std::min(bytes.size(), kMaxRefusalBody - refusal_body_.size()));
    return {};
  }
  received_ += bytes.size();
  return next_.on_body(bytes);
}

std::optional<std::chrono::milliseconds> AttemptSink::patience() const {
  return refusal_ ? std::nullopt : next_.patience();
}

lib::Status AttemptSink::deliver() {
  hold_ = false;
  const ResponseHead head = *std::exchange(refusal_, std::nullopt);
  if (auto status = on_head(head); !status.ok()) return status;
  return refusal_body_.empty() ? lib::Status() : on_body(refusal_body_);
}

void AttemptSink::discard() {
  if (refusal_) status_ = refusal_->status;
  report();
}

void AttemptSink::report() {
  if (std::exchange(reported_, true)) return;
  AnsweredRequest out{.host = host_,
                      .method = request_.method,
                      .status = status_,
                      .seconds = std::chrono::duration<double>(clock_.now() - begun_).count(),
                      .again = request_.again};
  if (!request_.watch) {
    out.request_bytes = request_.body.size();
    if (status_ != 0) out.answer_bytes = received_;
  }
  observer_.answered(out);
}

}  // namespace sluice::kube

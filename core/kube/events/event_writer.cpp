// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/events/event_writer.hpp"

#include <algorithm>

#include "core/kube/decode/decode.hpp"
#include "core/kube/decode/text.hpp"
#include "core/kube/events/event_document.hpp"

namespace sluice::kube {
namespace {

// Keeps the beginning of the response body, which has the message.
class AnswerSink final : public ResponseSink {
 public:
  lib::Status on_head(const ResponseHead& head) override {
    head_ = head;
    return {};
  }
  lib::Status on_body(std::string_view bytes) override {
    body_ += bytes.substr(0, std::min(bytes.size(), kMost - body_.size()));
    return {};
  }
  // Shorter than the transport's timeout: the event is retried, and its thread must not block for a minute.
  std::optional<std::chrono::milliseconds> patience() const override { return std::chrono::seconds(10); }

  const ResponseHead& head() const { return head_; }
  const std::string& body() const { return body_; }

 private:
  static constexpr std::size_t kMost = 64u << 10;
  ResponseHead head_;
  std::string body_;
};

EventResult result_of(int status, bool creates) {
  if (status >= 200 && status < 300) return EventResult::written;
  if (status == 409) return creates ? EventResult::written : EventResult::try_later;
  if (status == 404 && !creates) return EventResult::gone;
  // 401: the credentials may be about to be renewed.
  if (status == 401 || status == 408 || status == 429 || status >= 500) return EventResult::try_later;
  return EventResult::refused;
}

std::string remedy(int status) {
  if (status == 403) return "; grant create and patch on events.events.k8s.io, as ClusterRole system:node-proxier does";
  if (status == 404) return "; check that the API server offers events.k8s.io/v1";
  return {};
}

}  // namespace

bool EventAnswer::asks_for_retry() const {
  return (status == 429 || status >= 500) && retry_after.value_or(std::chrono::seconds(0)) > std::chrono::seconds(0);
}

EventAnswer write_event(Transport& transport, const EventWrite& write, EventAttempt attempt,
                        const std::string& node_name) {
  const bool creates = attempt.recreate || write.count == 1;
  AnswerSink sink;
  Request request = creates ? create_request(write, node_name) : series_request(write);
  request.again = attempt.again;
  const lib::Status status = transport.send(request, sink);
  EventAnswer out;
  out.status = sink.head().status;
  out.retry_after = sink.head().retry_after;
  // The status decides: the event is written even if the body is truncated.
  if (out.status != 0) {
    out.result = result_of(out.status, creates);
    Decoder decoder;
    const ApiStatus error = decoder.status(sink.body()).value_or(ApiStatus());
    out.sentence = "the API server " + transport.server() + " answers " + std::to_string(out.status);
    if (!error.message.empty()) out.sentence += ": " + in_quotes(error.message, 200);
    out.sentence += remedy(out.status);
  } else {
    out.sentence = status.ok() ? "the API server " + transport.server() + " sent no response" : status.message();
  }
  return out;
}

}  // namespace sluice::kube

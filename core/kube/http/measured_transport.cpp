// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/measured_transport.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace sluice::kube {
namespace {

// Passes everything on, and tells of the request: once the head is there when it is a
// watch, which has no end that would say anything about the server, else at the end.
class NotingSink final : public ResponseSink {
 public:
  NotingSink(ResponseSink& sink, bool tell_at_head, std::function<void(int status)> tell)
      : sink_(sink), tell_at_head_(tell_at_head), tell_(std::move(tell)) {}

  base::Status on_head(const ResponseHead& head) override {
    status_ = head.status;
    if (tell_at_head_) tell();
    return sink_.on_head(head);
  }
  base::Status on_body(std::string_view bytes) override { return sink_.on_body(bytes); }
  std::optional<std::chrono::milliseconds> patience() const override { return sink_.patience(); }

  void tell() {
    if (!told_) tell_(status_);
    told_ = true;
  }

 private:
  ResponseSink& sink_;
  const bool tell_at_head_;
  const std::function<void(int status)> tell_;
  int status_ = 0;  // there was no answer
  bool told_ = false;
};

}  // namespace

MeasuredTransport::MeasuredTransport(std::unique_ptr<Transport> transport, std::string host, RequestObserver& observer,
                                     const base::Clock& clock)
    : transport_(std::move(transport)), host_(std::move(host)), observer_(observer), clock_(clock) {}

base::Status MeasuredTransport::send(const Request& request, ResponseSink& sink) {
  const auto begin = clock_.now();
  NotingSink noting(sink, request.watch, [&](int status) {
    const std::chrono::duration<double> took = clock_.now() - begin;
    observer_.answered(host_, request.method, status, took.count());
  });
  const auto outcome = transport_->send(request, noting);
  noting.tell();
  return outcome;
}

}  // namespace sluice::kube

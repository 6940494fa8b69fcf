// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/http/measured_transport.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::kube {
namespace {

// Forwards everything, and reports the request: a watch when its head arrives, because its end says nothing about the
// server; any other request at its end.
class MeasuringSink final : public ResponseSink {
 public:
  MeasuringSink(ResponseSink& sink, const Request& request, std::string_view host, RequestObserver& observer,
                const lib::Clock& clock)
      : sink_(sink),
        request_(request),
        host_(host),
        observer_(observer),
        clock_(clock),
        begun_(clock.now()),
        again_(request.again) {}

  lib::Status on_head(const ResponseHead& head) override {
    status_ = head.status;
    if (request_.watch) report();
    return sink_.on_head(head);
  }
  lib::Status on_body(std::string_view bytes) override {
    received_ += bytes.size();
    return sink_.on_body(bytes);
  }
  std::optional<std::chrono::milliseconds> patience() const override { return sink_.patience(); }
  void on_repeat(int status) override {
    status_ = status;
    report();
    reported_ = false;
    again_ = true;
    status_ = 0;
    received_ = 0;
    begun_ = clock_.now();
    sink_.on_repeat(status);
  }

  void report() {
    if (std::exchange(reported_, true)) return;
    AnsweredRequest out{.host = host_,
                        .method = request_.method,
                        .status = status_,
                        .seconds = std::chrono::duration<double>(clock_.now() - begun_).count(),
                        .again = again_};
    if (!request_.watch) {
      out.request_bytes = request_.body.size();
      if (status_ != 0) out.answer_bytes = received_;
    }
    observer_.answered(out);
  }

 private:
  ResponseSink& sink_;
  const Request& request_;
  const std::string_view host_;
  RequestObserver& observer_;
  const lib::Clock& clock_;
  lib::Clock::Time begun_;
  bool again_;
  int status_ = 0;
  std::uint64_t received_ = 0;
  bool reported_ = false;
};

}  // namespace

MeasuredTransport::MeasuredTransport(std::unique_ptr<Transport> transport, std::string host, RequestObserver& observer,
                                     const lib::Clock& clock)
    : transport_(std::move(transport)), host_(std::move(host)), observer_(observer), clock_(clock) {}

lib::Status MeasuredTransport::send(const Request& request, ResponseSink& sink) {
  MeasuringSink measuring(sink, request, host_, observer_, clock_);
  const auto outcome = transport_->send(request, measuring);
  measuring.report();
  return outcome;
}

}  // namespace sluice::kube

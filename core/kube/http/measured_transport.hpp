// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A transport that forwards requests and reports the status, duration and body sizes of each. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "core/kube/http/request_observer.hpp"
#include "core/kube/http/transport.hpp"
#include "lib/clock.hpp"

namespace sluice::kube {

class MeasuredTransport final : public Transport {
 public:
  // `host` is passed to the observer. The observer and the clock must outlive this object.
  MeasuredTransport(std::unique_ptr<Transport> transport, std::string host, RequestObserver& observer,
                    const lib::Clock& clock);

  lib::Status send(const Request& request, ResponseSink& sink) override;
  void stop() override { transport_->stop(); }
  std::string server() const override { return transport_->server(); }

 private:
  const std::unique_ptr<Transport> transport_;
  const std::string host_;
  RequestObserver& observer_;
  const lib::Clock& clock_;
};

}  // namespace sluice::kube

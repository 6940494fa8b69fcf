// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A transport that reports every request that it passes on to another: what was answered,
// how long that took, and how large both bodies were. Any thread.
#pragma once

#include <memory>
#include <string>

#include "core/base/clock.hpp"
#include "core/kube/http/request_observer.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

class MeasuredTransport final : public Transport {
 public:
  // `host` is what the observer is told; it and the clock outlive this.
  MeasuredTransport(std::unique_ptr<Transport> transport, std::string host, RequestObserver& observer,
                    const base::Clock& clock);

  base::Status send(const Request& request, ResponseSink& sink) override;
  void stop() override { transport_->stop(); }
  std::string server() const override { return transport_->server(); }

 private:
  const std::unique_ptr<Transport> transport_;
  const std::string host_;
  RequestObserver& observer_;
  const base::Clock& clock_;
};

}  // namespace sluice::kube

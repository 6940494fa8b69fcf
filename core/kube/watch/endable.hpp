// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Wrappers for a shared transport and a shared sink, which end the requests and events of one of their users.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/kube/http/transport.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

class EndableTransport final : public Transport {
 public:
  // `next` must outlive this object.
  explicit EndableTransport(Transport& next) : next_(next) {}

  lib::Status send(const Request& request, ResponseSink& sink) override;
  // [any thread] Later requests fail at once; a request in progress ends with the next chunk of its response. Both with
  // ECANCELED.
  void end() { ended_ = true; }
  void stop() override { end(); }
  std::string server() const override { return next_.server(); }

 private:
  Transport& next_;
  std::atomic<bool> ended_{false};
};

class EndableSink final : public model::EventSink {
 public:
  // `next` must outlive this object.
  explicit EndableSink(model::EventSink& next) : next_(next) {}

  void deliver(model::Event event) override {
    const std::lock_guard lock(mutex_);
    if (!ended_) next_.deliver(std::move(event));
  }
  // [any thread] No event is delivered afterwards.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }

 private:
  model::EventSink& next_;
  std::mutex mutex_;
  bool ended_ = false;
};

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Notes in the trace of the start when the source begins and completes its lists.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "core/model/event.hpp"
#include "core/observe/start_trace.hpp"

namespace sluice::daemon {

class TracedSink final : public model::EventSink {
 public:
  // Both must outlive it.
  TracedSink(model::EventSink& next, observe::StartTrace& trace) : next_(next), trace_(trace) {}

  void deliver(model::Event event) override {
    if (std::holds_alternative<model::ListBegin>(event)) trace_.answered();
    // Before the store has the list: waiting for the store is not a part of the list.
    if (const auto* const end = std::get_if<model::ListEnd>(&event)) trace_.listed(end->kind);
    next_.deliver(std::move(event));
  }
  void server_at(std::vector<lib::SocketAddress> addresses) override { next_.server_at(std::move(addresses)); }

 private:
  model::EventSink& next_;
  observe::StartTrace& trace_;
};

}  // namespace sluice::daemon

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One attempt to write an event, and its result. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/kube/events/event_series.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

enum class EventResult {
  written,    // also if it exists already, because an earlier response was lost
  gone,       // the event of a series has expired and must be created again
  try_later,  // the server is unavailable or overloaded
  refused,    // the server rejects this event
};

struct EventAnswer {
  EventResult result = EventResult::try_later;
  int status = 0;        // HTTP; 0 = no response
  std::string sentence;  // why it was not written
  std::optional<std::chrono::seconds> retry_after;

  // Whether an overloaded server asks for a retry (Retry-After).
  bool asks_for_retry() const;
};

struct EventAttempt {
  bool recreate = false;  // create the event although it is a series
  bool again = false;     // the response to the previous attempt asked for a retry
};

EventAnswer write_event(Transport& transport, const EventWrite& write, EventAttempt attempt,
                        const std::string& node_name);

}  // namespace sluice::kube

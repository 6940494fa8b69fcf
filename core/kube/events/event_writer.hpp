// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One try to write an event, and what its answer means. One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/kube/events/event_series.hpp"
#include "core/kube/http/transport.hpp"

namespace sluice::kube {

enum class EventFate {
  written,    // also when it is there already: an earlier answer was lost
  gone,       // a series whose event has expired: to be created again
  try_later,  // the server is not there, or has too much to do
  refused,    // it will never take this one
};

struct EventAnswer {
  EventFate fate = EventFate::try_later;
  int status = 0;        // HTTP; 0 = none came
  std::string sentence;  // why it was not written
  std::optional<std::chrono::seconds> retry_after;

  // The server has too much to do, and says when to send this again.
  bool asks_for_another_try() const;
};

struct EventTry {
  bool recreate = false;  // create it even though it is a series
  bool again = false;  // the answer to the try before asked for another one
};

EventAnswer write_event(Transport& transport, const EventWrite& write, EventTry how, const std::string& node_name);

}  // namespace sluice::kube

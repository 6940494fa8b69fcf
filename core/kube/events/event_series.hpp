// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Aggregates repeated events into a series with a count, like client-go: the first is written, the second turns it into
// a series at once, later ones are counted and written periodically. A series ends after six minutes without an event.
// Decides only; EventRecorder writes. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/kube/events/cluster_event.hpp"
#include "lib/clock.hpp"

namespace sluice::kube {

// A request to be sent.
struct EventWrite {
  ClusterEvent event;
  std::string name;  // metadata.name of the event
  std::chrono::system_clock::time_point first;
  std::chrono::system_clock::time_point last;
  std::uint32_t count = 1;  // 1 = create the event; more = update the series of an existing one
};

class EventSeries {
 public:
  static constexpr std::chrono::minutes kWindow{6};   // time without an event that ends a series
  static constexpr std::chrono::minutes kRefresh{5};  // minimum time between writes of a count
  static constexpr std::size_t kMost = 200;           // maximum number of series

  // Adds an event. Returns what to write now, if anything. `wall` goes into the event, `now` is for deadlines.
  std::optional<EventWrite> note(const ClusterEvent& event, std::chrono::system_clock::time_point wall,
                                 lib::Clock::Time now);
  // Counts that are due to be written.
  std::vector<EventWrite> due(lib::Clock::Time now);
  lib::Clock::Time next_due() const;  // max() if there is none
  // The event could not be written: the next one like it starts a new series.
  void forget(const ClusterEvent& event);

 private:
  struct Series {
    std::string name;
    std::chrono::system_clock::time_point first;
    std::chrono::system_clock::time_point last;
    lib::Clock::Time last_at;
    lib::Clock::Time written_at;
    std::uint32_t count = 1;
    std::uint32_t written = 1;
  };
  static EventWrite write(const ClusterEvent& event, const Series& series);
  static lib::Clock::Time due_at(const Series& series);
  void make_room();

  std::map<ClusterEvent, Series> known_;
};

}  // namespace sluice::kube

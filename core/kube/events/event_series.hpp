// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Makes one event with a count of what is said again and again, as client-go does: the
// first is written, the second turns it into a series at once, later ones are counted and
// written now and then, and what was silent for six minutes begins anew. Writes nothing
// itself and knows no network. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/kube/events/cluster_event.hpp"

namespace sluice::kube {

// One request to come.
struct EventWrite {
  ClusterEvent event;
  std::string name;  // of the event's object
  std::chrono::system_clock::time_point first;
  std::chrono::system_clock::time_point last;
  std::uint32_t count = 1;  // 1 = to be created; more = the series of one that is there
};

class EventSeries {
 public:
  static constexpr std::chrono::minutes kWindow{6};   // of silence that end a series
  static constexpr std::chrono::minutes kRefresh{5};  // between two writes of one count
  static constexpr std::size_t kMost = 200;           // series remembered

  // What is to be written now, if anything. `wall` is for people, `now` for deadlines.
  std::optional<EventWrite> note(const ClusterEvent& event, std::chrono::system_clock::time_point wall,
                                 base::Clock::Time now);
  // Counts that are due to be written.
  std::vector<EventWrite> due(base::Clock::Time now);
  base::Clock::Time next_due() const;  // max() when nothing is
  // It was never written, so the next one like it is a first.
  void forget(const ClusterEvent& event);

 private:
  struct Series {
    std::string name;
    std::chrono::system_clock::time_point first;
    std::chrono::system_clock::time_point last;
    base::Clock::Time last_at;
    base::Clock::Time written_at;
    std::uint32_t count = 1;
    std::uint32_t written = 1;
  };
  static EventWrite write(const ClusterEvent& event, const Series& series);
  static base::Clock::Time due_at(const Series& series);
  void make_room();

  std::map<ClusterEvent, Series> known_;
};

}  // namespace sluice::kube

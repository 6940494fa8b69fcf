// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/events/event_series.hpp"

#include <algorithm>

#include "core/kube/events/event_document.hpp"

namespace sluice::kube {

std::optional<EventWrite> EventSeries::note(const ClusterEvent& event, std::chrono::system_clock::time_point wall,
                                            lib::Clock::Time now) {
  auto found = known_.find(event);
  if (found != known_.end() && now - found->second.last_at >= kWindow) {
    known_.erase(found);
    found = known_.end();
  }
  if (found == known_.end()) {
    make_room();
    Series first;
    first.name = event_name(event.regarding, wall);
    first.first = first.last = wall;
    first.last_at = first.written_at = now;
    return write(event, known_.emplace(event, std::move(first)).first->second);
  }
  Series& series = found->second;
  ++series.count;
  series.last = wall;
  series.last_at = now;
  if (series.written > 1) return std::nullopt;
  series.written = series.count;
  series.written_at = now;
  return write(event, series);
}

std::vector<EventWrite> EventSeries::due(lib::Clock::Time now) {
  std::vector<EventWrite> out;
  for (auto it = known_.begin(); it != known_.end();) {
    Series& series = it->second;
    if (now < due_at(series)) {
      ++it;
      continue;
    }
    if (series.written < series.count) {
      out.push_back(write(it->first, series));
      series.written = series.count;
      series.written_at = now;
    }
    it = now - series.last_at >= kWindow ? known_.erase(it) : std::next(it);
  }
  return out;
}

lib::Clock::Time EventSeries::next_due() const {
  auto out = lib::Clock::Time::max();
  for (const auto& [event, series] : known_) out = std::min(out, due_at(series));
  return out;
}

void EventSeries::forget(const ClusterEvent& event) { known_.erase(event); }

EventWrite EventSeries::write(const ClusterEvent& event, const Series& series) {
  return {event, series.name, series.first, series.last, series.count};
}

lib::Clock::Time EventSeries::due_at(const Series& series) {
  const auto end = series.last_at + kWindow;
  return series.written < series.count ? std::min(end, series.written_at + kRefresh) : end;
}

// Drops the series with the oldest event; its next occurrence starts a new series.
void EventSeries::make_room() {
  if (known_.size() < kMost) return;
  known_.erase(std::min_element(known_.begin(), known_.end(), [](const auto& a, const auto& b) {
    return a.second.last_at < b.second.last_at;
  }));
}

}  // namespace sluice::kube

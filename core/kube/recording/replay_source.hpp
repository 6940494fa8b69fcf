// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A source that replays a recording, at the original speed or another one. After the last event the replayed state is
// kept.
//
// A state machine: step() delivers the events that are due and returns how long to wait. It is called by the source's
// thread, or by a test.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "core/kube/decode/decode.hpp"
#include "core/kube/recording/recording_reader.hpp"
#include "core/kube/watch/object_problems.hpp"
#include "core/model/event.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

struct ReplayOptions {
  double speed = 1;  // 2 = twice as fast; 0 = without delays
};

struct ReplayStatus {
  std::uint64_t delivered = 0;
  std::uint64_t total = 0;
  std::uint64_t unusable = 0;  // objects that could not be decoded
  std::string error;           // why the replay ended before the last event

  bool complete() const { return delivered == total; }
};

class ReplaySource {
 public:
  using WallClock = std::function<std::chrono::system_clock::time_point()>;

  // The sink and the clock must outlive the source.
  ReplaySource(std::string path, ReplayOptions options, model::EventSink& sink, const lib::Clock& clock,
               WallClock wall_clock = &std::chrono::system_clock::now);
  ~ReplaySource();
  ReplaySource(const ReplaySource&) = delete;
  ReplaySource& operator=(const ReplaySource&) = delete;

  // Reads every line, and fails if one is malformed. The replay starts now.
  lib::Status open();
  // Calls open(), then replays in its own thread.
  lib::Status start();
  // Returns soon, unless the sink blocks.
  void stop();

  // REQUIRES: open(). Delivers the events that are due. Returns the time until the next event; absent after the last.
  std::optional<lib::Clock::Duration> step();

  const RecordingHeader& header() const { return reader_->header(); }  // REQUIRES: open()
  ReplayStatus status() const;                                         // any thread

 private:
  struct Pending {
    RecordingLine line;
    std::optional<model::Event> event;  // absent if the line has no usable event
  };

  void run();
  lib::Status read_next();
  std::optional<model::Event> event_of(const RecordingLine& line, std::string_view text);
  std::optional<model::Event> changed(model::ResourceKind kind, std::string_view text);
  lib::Clock::Time due(const RecordingLine& line) const;
  void deliver();
  void end(const std::string& error);

  const std::string path_;
  const ReplayOptions options_;
  model::EventSink& sink_;
  const lib::Clock& clock_;
  const WallClock wall_clock_;

  std::optional<RecordingReader> reader_;
  RecordingLineParser parser_;
  Decoder decoder_;
  std::array<ObjectProblems, model::kResourceKinds.size()> problems_;
  RecordingSummary summary_;
  lib::Clock::Time started_{};
  lib::Clock::Duration last_time_{};
  std::optional<Pending> pending_;

  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> unusable_{0};
  std::atomic<bool> stopped_{false};
  mutable lib::Mutex mutex_;
  lib::ConditionVariable stop_changed_;
  std::string error_ SLUICE_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sluice::kube

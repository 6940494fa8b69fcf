// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Forwards events from a source to the store and records them in the same order, each with its time. Events contain no
// credentials, and of objects only the decoded fields.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/kube/recording/recording_file.hpp"
#include "core/kube/recording/recording_line.hpp"
#include "core/model/event.hpp"
#include "lib/clock.hpp"
#include "lib/mutex.hpp"

namespace sluice::kube {

struct RecordingStatus {
  std::string path;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::string error;  // why the recording has ended; empty while it continues
};

class RecordingSink final : public model::EventSink {
 public:
  // `next` receives every event, even if the file cannot be written. It and the clock must outlive the sink.
  RecordingSink(std::string path, model::EventSink& next, const lib::Clock& clock)
      : file_(std::move(path)), next_(next), clock_(clock) {}

  // Creates the file and writes the header. Must be called before the source starts.
  lib::Status start(const RecordingHeader& header);
  // Writes all events delivered so far and closes the file.
  void stop() { file_.close(); }

  void deliver(model::Event event) override;
  void server_at(std::vector<lib::SocketAddress> addresses) override { next_.server_at(std::move(addresses)); }
  RecordingStatus status() const;  // any thread

 private:
  RecordingFile file_;
  model::EventSink& next_;
  const lib::Clock& clock_;
  lib::Clock::Time started_{};
  lib::Mutex order_;
  std::atomic<std::uint64_t> events_{0};
  std::atomic<bool> recording_{false};
};

}  // namespace sluice::kube

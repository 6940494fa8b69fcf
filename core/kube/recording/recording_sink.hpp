// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Stands between a source and the store, and writes down what passes: events in the
// order in which the store gets them, each with its time. Credentials never pass here,
// and of objects only what a decoder has read.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/base/clock.hpp"
#include "core/kube/recording/recording_file.hpp"
#include "core/kube/recording/recording_line.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

struct RecordingStatus {
  std::string path;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::string error;  // why it has ended; empty while it goes on
};

class RecordingSink final : public model::EventSink {
 public:
  // `next` gets every event, whatever becomes of the file. It and the clock outlive the sink.
  RecordingSink(std::string path, model::EventSink& next, const base::Clock& clock)
      : file_(std::move(path)), next_(next), clock_(clock) {}

  // Makes the file and writes the header; before the source starts.
  base::Status start(const RecordingHeader& header);
  // Everything delivered so far is in the file afterwards.
  void stop() { file_.close(); }

  void deliver(model::Event event) override;
  void server_at(std::vector<base::SocketAddress> addresses) override { next_.server_at(std::move(addresses)); }
  RecordingStatus status() const;  // any thread

 private:
  RecordingFile file_;
  model::EventSink& next_;
  const base::Clock& clock_;
  base::Clock::Time started_{};
  std::mutex order_;
  std::atomic<std::uint64_t> events_{0};
  std::atomic<bool> recording_{false};
};

}  // namespace sluice::kube

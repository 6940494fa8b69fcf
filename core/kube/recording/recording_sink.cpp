// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/recording/recording_sink.hpp"

#include <utility>

#include "core/base/log_messages.hpp"

namespace sluice::kube {

lib::Status RecordingSink::start(const RecordingHeader& header) {
  if (auto status = file_.open(); !status.ok()) return status;
  started_ = clock_.now();
  recording_ = file_.append(header_line(header));
  base::log(base::message::kRecordingStarted, "recording the events of the source to " + file_.path(),
            {{"file", file_.path()}});
  return {};
}

void RecordingSink::deliver(model::Event event) {
  if (!recording_) return next_.deliver(std::move(event));
  const std::string body = event_body(event);
  // Held while the event is forwarded, so that the file has the same order.
  const lib::Lock lock(order_);
  if (file_.append(event_line(clock_.now() - started_, body))) {
    ++events_;
  } else {
    recording_ = false;
  }
  next_.deliver(std::move(event));
}

RecordingStatus RecordingSink::status() const {
  const RecordingFile::Status file = file_.status();
  return {file_.path(), events_, file.bytes, file.error};
}

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads responses to LIST and WATCH as they arrive: HTTP status, lists and watch events. The reflector handles the
// decoded objects.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/kube/decode/decode.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/watch/body_splitter.hpp"

namespace sluice::kube {

// ECANCELED: the resource is no longer needed.
lib::Status cancelled_status();

class AnswerReader : public ResponseSink {
 public:
  explicit AnswerReader(Decoder& decoder) : decoder_(decoder) {}

  // Once `cancelled` is true, the next chunk ends the request with cancelled_status(). It must outlive the reader.
  void set_cancelled(const std::atomic<bool>& cancelled) { cancelled_ = &cancelled; }

  lib::Status on_head(const ResponseHead& head) final;
  lib::Status on_body(std::string_view bytes) final;

  int http_status() const { return head_.status; }  // 0 = no response
  // Why reading was aborted; ok if it was not.
  const lib::Status& failure() const { return failure_; }
  // The error that the server sent instead of 200.
  ApiStatus refusal();

 protected:
  virtual void begin() {}
  virtual lib::Status read(std::string_view bytes) = 0;
  Decoder& decoder() { return decoder_; }
  Encoding encoding() const { return encoding_; }

 private:
  bool cancelled() const { return cancelled_ != nullptr && *cancelled_; }

  Decoder& decoder_;
  const std::atomic<bool>* cancelled_ = nullptr;
  ResponseHead head_;
  Encoding encoding_ = Encoding::json;
  std::string error_body_;
  lib::Status failure_;
};

// One page of a list.
class ListReader final : public AnswerReader {
 public:
  // `begun` is called when the response starts.
  ListReader(Decoder& decoder, model::ResourceKind kind, std::function<void()> begun,
             std::function<lib::Status(Decoded)> visit);
  // An object without a readable name fails the list, unless this is set: then it is handled like any invalid object.
  void set_tolerant(bool tolerant) { tolerant_ = tolerant; }
  // Fails unless the page is complete and of the right kind.
  lib::Result<ListEnvelope> finish();

 private:
  void begin() override;
  lib::Status read(std::string_view bytes) override { return splitter_->append(bytes); }

  lib::Status take(Decoded decoded);

  const model::ResourceKind kind_;
  std::function<void()> begun_;
  std::function<lib::Status(Decoded)> visit_;
  bool tolerant_ = false;
  std::unique_ptr<ListBodySplitter> splitter_;  // since begin()
};

class WatchReader final : public AnswerReader {
 public:
  using Patience = std::function<std::optional<std::chrono::milliseconds>()>;

  WatchReader(Decoder& decoder, model::ResourceKind kind, std::function<void()> begun,
              std::function<lib::Status(WatchEvent)> visit, Patience patience);

  std::optional<std::chrono::milliseconds> patience() const override { return patience_(); }

 private:
  void begin() override;
  lib::Status read(std::string_view bytes) override { return splitter_->append(bytes); }

  lib::Status take(lib::Result<WatchEvent> event) { return event ? visit_(std::move(*event)) : event.status(); }

  const model::ResourceKind kind_;
  std::function<void()> begun_;
  std::function<lib::Status(WatchEvent)> visit_;
  Patience patience_;
  std::unique_ptr<BodySplitter> splitter_;  // since begin()
};

// A response of which only the HTTP status matters.
class ProbeReader final : public AnswerReader {
 public:
  using AnswerReader::AnswerReader;

 private:
  lib::Status read(std::string_view) override { return {}; }
};

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The API server's answers to LIST and WATCH, read while they arrive. Knows HTTP
// status, lists and watch events; what objects mean for the store is the reflector's.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/kube/decode/decode.hpp"
#include "core/kube/http/transport.hpp"
#include "core/kube/watch/item_splitter.hpp"

namespace sluice::kube {

class AnswerReader : public ResponseSink {
 public:
  explicit AnswerReader(Decoder& decoder) : decoder_(decoder) {}

  base::Status on_head(const ResponseHead& head) final;
  base::Status on_body(std::string_view bytes) final;

  int http_status() const { return head_.status; }  // 0 = no answer came
  // Why reading was given up; ok if it was not.
  const base::Status& failure() const { return failure_; }
  // What the server said instead of 200.
  ApiStatus refusal();

 protected:
  virtual void begin() {}
  virtual base::Status read(std::string_view bytes) = 0;
  Decoder& decoder() { return decoder_; }

 private:
  Decoder& decoder_;
  ResponseHead head_;
  std::string error_body_;
  base::Status failure_;
};

// One page of a list.
class ListReader final : public AnswerReader {
 public:
  // `begun` is called when the list starts to arrive.
  ListReader(Decoder& decoder, model::ResourceKind kind, std::function<void()> begun,
             std::function<base::Status(Decoded)> visit);
  // An object that is damaged so much that its name cannot be read fails the list, unless
  // this is set: then it is like any other that cannot be used.
  void set_tolerant(bool tolerant) { tolerant_ = tolerant; }
  // Fails unless the page arrived whole and is of the right kind.
  base::Result<ListEnvelope> finish();

 private:
  void begin() override { begun_(); }
  base::Status read(std::string_view bytes) override { return splitter_.feed(bytes); }

  base::Status take(Decoded decoded);

  const model::ResourceKind kind_;
  std::function<void()> begun_;
  std::function<base::Status(Decoded)> visit_;
  bool tolerant_ = false;
  ListSplitter splitter_;
};

class WatchReader final : public AnswerReader {
 public:
  using Patience = std::function<std::optional<std::chrono::milliseconds>()>;

  WatchReader(Decoder& decoder, model::ResourceKind kind, std::function<void()> begun,
              std::function<base::Status(WatchEvent)> visit, Patience patience);

  std::optional<std::chrono::milliseconds> patience() const override { return patience_(); }

 private:
  void begin() override { begun_(); }
  base::Status read(std::string_view bytes) override { return splitter_.feed(bytes); }

  std::function<void()> begun_;
  Patience patience_;
  DocumentSplitter splitter_;
};

// An answer of which the HTTP status says everything.
class ProbeReader final : public AnswerReader {
 public:
  using AnswerReader::AnswerReader;

 private:
  base::Status read(std::string_view) override { return {}; }
};

}  // namespace sluice::kube

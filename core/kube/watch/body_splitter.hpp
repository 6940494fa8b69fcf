// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Splits the body of a list or a watch into objects while it arrives, so that it is never held in memory as a whole.
// One implementation for each encoding: item_splitter for JSON, protobuf_splitter for protobuf.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "lib/status.hpp"

namespace sluice::kube {

// Twice the maximum size of an object in an API server.
inline constexpr std::size_t kMaxObjectBytes = 4u << 20;
// The part that is kept of a larger object.
inline constexpr std::size_t kKeptOfOversized = 64u << 10;
// The limit for an object that is skipped.
inline constexpr std::size_t kMaxSkippedBytes = 256u << 20;
// For kind, apiVersion and metadata of a list; a continue token is a few hundred bytes.
inline constexpr std::size_t kMaxEnvelopeBytes = 256u << 10;

// Keeps the space of a usual buffer for the next object, and frees more.
inline void clear_buffer(std::string& buffer) {
  constexpr std::size_t kUsualRoom = 1u << 20;
  if (buffer.capacity() > kUsualRoom) buffer = std::string();
  buffer.clear();
}

inline lib::Status object_too_large(std::size_t limit) {
  return lib::invalid("an object is larger than " + std::to_string(limit >> 20) + " MiB");
}
inline lib::Status envelope_too_large() {
  return lib::invalid("the list has more than " + std::to_string(kMaxEnvelopeBytes >> 10) + " KiB beside its items");
}
inline lib::Status list_incomplete(std::size_t items) {
  return lib::unavailable("the list ended too early, after " + std::to_string(items) + " complete items");
}

// Receives one complete object; the view is valid during the call. An error ends the parsing.
using ObjectVisitor = std::function<lib::Status(std::string_view object)>;

class BodySplitter {
 public:
  virtual ~BodySplitter() = default;
  // Continues the body. An error is final.
  virtual lib::Status append(std::string_view bytes) = 0;
};

class ListBodySplitter : public BodySplitter {
 public:
  // The list in JSON, without its items; fails if the body is incomplete.
  virtual lib::Result<std::string> finish() = 0;
  // The number of complete items so far.
  virtual std::size_t items() const = 0;
};

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Cuts JSON text that arrives in pieces into objects, so that a list is never held
// whole and a watch event is decoded as soon as its last byte is there. Looks at
// nothing but braces and strings: what is inside an object is checked by its decoder.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace sluice::kube {

// Twice of what an API server stores.
inline constexpr std::size_t kMaxObjectBytes = 4u << 20;
// What is kept of a larger one.
inline constexpr std::size_t kKeptOfOversized = 64u << 10;

// Receives one complete object; the view lives for the call. A failure ends the cutting.
using ObjectVisitor = std::function<base::Status(std::string_view object)>;

// Finds the end of one JSON object.
class ObjectScanner {
 public:
  // Looks through `text`, which goes on where the last call ended and starts with '{'
  // on the first. Returns how many bytes belong to the object.
  std::size_t scan(std::string_view text);
  bool complete() const { return depth_ == 0 && started_; }
  void reset() { *this = ObjectScanner(); }

 private:
  std::size_t depth_ = 0;
  bool started_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

// Takes one object after another off text that arrives in pieces. An object beyond the
// limit is read to its end without being kept, and its beginning goes to `oversized`;
// without such a visitor it is a failure.
class ObjectCutter {
 public:
  ObjectCutter(ObjectVisitor visit, std::size_t limit, ObjectVisitor oversized)
      : visit_(std::move(visit)), oversized_(std::move(oversized)), limit_(limit) {}

  // Takes the object at the front of `bytes`, or its next part, off `bytes`. `done`: it
  // was complete and has been visited.
  base::Status take(std::string_view& bytes, bool& done);

 private:
  base::Status keep(std::string_view part);
  base::Status visit_oversized();

  ObjectVisitor visit_;
  ObjectVisitor oversized_;
  std::size_t limit_;
  ObjectScanner scanner_;
  std::string partial_;
  std::size_t skipped_ = 0;  // size so far of an object beyond the limit
};

// One object after another with nothing but white space between: the body of a watch.
class DocumentSplitter {
 public:
  explicit DocumentSplitter(ObjectVisitor visit, std::size_t limit = kMaxObjectBytes, ObjectVisitor oversized = {})
      : cutter_(std::move(visit), limit, std::move(oversized)) {}

  base::Status feed(std::string_view bytes);
  // Whether the text fed so far ends between two objects.
  bool at_boundary() const { return !inside_; }

 private:
  ObjectCutter cutter_;
  bool inside_ = false;
};

// A list: each element of the top-level "items" goes to the visitor, the rest is kept
// as a small document with an empty "items".
class ListSplitter {
 public:
  explicit ListSplitter(ObjectVisitor visit, std::size_t limit = kMaxObjectBytes, ObjectVisitor oversized = {})
      : cutter_(std::move(visit), limit, std::move(oversized)) {}

  base::Status feed(std::string_view bytes);
  // The rest of the list; fails if the text ended too early.
  base::Result<std::string> finish() const;
  std::size_t items() const { return items_; }

 private:
  enum class Place { envelope, before_item, item, after_item };

  base::Status feed_envelope(std::string_view& bytes);
  base::Status feed_between(std::string_view& bytes);
  base::Status feed_item(std::string_view& bytes);
  bool last_key_is_items() const;

  ObjectCutter cutter_;
  Place place_ = Place::envelope;
  std::string envelope_;
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  std::size_t key_begin_ = 0;  // of the last string at the top level, without quotes
  std::size_t key_end_ = 0;
  bool after_comma_ = false;
  std::size_t items_ = 0;
};

}  // namespace sluice::kube

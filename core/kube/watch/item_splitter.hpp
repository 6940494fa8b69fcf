// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Splits JSON text that arrives in chunks into objects, so that a list is never held in memory as a whole and a watch
// event is decoded as soon as its last byte arrives. Parses only braces and strings; the decoder checks the objects.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/kube/watch/body_splitter.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Finds the end of one JSON object.
class ObjectScanner {
 public:
  // Scans `text`, which continues after the previous call and starts with '{' on the first one. Returns the number of
  // bytes that belong to the object.
  std::size_t scan(std::string_view text);
  bool complete() const { return depth_ == 0 && started_; }
  void reset() { *this = ObjectScanner(); }

 private:
  std::size_t depth_ = 0;
  bool started_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

// Extracts objects from text that arrives in chunks. An object beyond the limit is skipped, and its beginning goes to
// `oversized`; without that visitor it is an error.
class ObjectCutter {
 public:
  ObjectCutter(ObjectVisitor visit, std::size_t limit, ObjectVisitor oversized)
      : visit_(std::move(visit)), oversized_(std::move(oversized)), limit_(limit) {}

  // Removes the object at the front of `bytes`, or its next part. Sets `done` if the object was complete and visited.
  lib::Status take(std::string_view& bytes, bool& done);

 private:
  lib::Status keep(std::string_view part);
  lib::Status visit_oversized();

  ObjectVisitor visit_;
  ObjectVisitor oversized_;
  std::size_t limit_;
  ObjectScanner scanner_;
  std::string partial_;
  std::size_t skipped_ = 0;  // size so far of an object beyond the limit
};

// Splits the body of a watch: objects separated by white space.
class DocumentSplitter final : public BodySplitter {
 public:
  explicit DocumentSplitter(ObjectVisitor visit, std::size_t limit = kMaxObjectBytes, ObjectVisitor oversized = {})
      : cutter_(std::move(visit), limit, std::move(oversized)) {}

  lib::Status append(std::string_view bytes) override;
  // Whether the text so far ends between two objects.
  bool at_boundary() const { return !inside_; }

 private:
  ObjectCutter cutter_;
  bool inside_ = false;
};

// Splits a list: each element of the top-level "items" goes to the visitor, the rest is kept as a small document with
// empty "items".
class ListSplitter final : public ListBodySplitter {
 public:
  explicit ListSplitter(ObjectVisitor visit, std::size_t limit = kMaxObjectBytes, ObjectVisitor oversized = {})
      : cutter_(std::move(visit), limit, std::move(oversized)) {}

  lib::Status append(std::string_view bytes) override;
  lib::Result<std::string> finish() override;
  std::size_t items() const override { return items_; }

 private:
  enum class Place { envelope, before_item, item, after_item };

  lib::Status consume_envelope(std::string_view& bytes);
  lib::Status consume_between(std::string_view& bytes);
  lib::Status consume_item(std::string_view& bytes);
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

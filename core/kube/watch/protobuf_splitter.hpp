// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Splits the body of a list or a watch in Kubernetes' protobuf. Reads only lengths; the decoder checks the objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/kube/decode/protobuf_to_json.hpp"
#include "core/kube/watch/body_splitter.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Extracts objects of known sizes from bytes that arrive in chunks. An object beyond the limit is skipped, and its
// beginning goes to `oversized`; without that visitor it is an error.
class SizedCutter {
 public:
  SizedCutter(ObjectVisitor visit, std::size_t limit, ObjectVisitor oversized)
      : visit_(std::move(visit)), oversized_(std::move(oversized)), limit_(limit) {}

  // An object of `size` bytes follows. REQUIRES: !inside()
  lib::Status begin(std::uint64_t size);
  // Removes the object at the front of `bytes`, or its next part.
  lib::Status take(std::string_view& bytes);
  // Whether an object has begun and is incomplete.
  bool inside() const { return left_ != 0; }

 private:
  ObjectVisitor visit_;
  ObjectVisitor oversized_;
  std::size_t limit_;
  std::uint64_t left_ = 0;
  bool too_large_ = false;
  std::string partial_;
};

// Splits the body of a watch: frames of a length in four bytes, the first one the most significant, and a WatchEvent.
class FrameSplitter final : public BodySplitter {
 public:
  explicit FrameSplitter(ObjectVisitor visit, std::size_t limit = kMaxObjectBytes, ObjectVisitor oversized = {})
      : cutter_(std::move(visit), limit, std::move(oversized)) {}

  lib::Status append(std::string_view bytes) override;
  // Whether the bytes so far end between two frames.
  bool at_boundary() const { return header_.empty() && !cutter_.inside(); }

 private:
  SizedCutter cutter_;
  std::string header_;
};

// Splits a list: the magic bytes and a runtime.Unknown, whose raw field is the list.
class ProtobufListSplitter final : public ListBodySplitter {
 public:
  explicit ProtobufListSplitter(ObjectVisitor visit, std::size_t limit = kMaxObjectBytes, ObjectVisitor oversized = {})
      : cutter_(std::move(visit), limit, std::move(oversized)) {}

  lib::Status append(std::string_view bytes) override;
  lib::Result<std::string> finish() override;
  std::size_t items() const override { return items_; }

 private:
  enum class Place { before_list, list, after_list };

  lib::Status take_magic(std::string_view& bytes);
  lib::Status take_content(std::string_view& bytes);
  lib::Status take_start(std::string_view& bytes);
  lib::Status enter(const FieldStart& field);
  lib::Status enter_item(const FieldStart& field);
  lib::Status enter_other(const FieldStart& field, std::string* kept);
  lib::Status too_long() const;

  SizedCutter cutter_;
  std::size_t magic_ = 0;  // bytes read
  Place place_ = Place::before_list;
  std::uint64_t list_left_ = 0;     // bytes
  std::string start_;               // of a field, incomplete
  std::uint64_t content_left_ = 0;  // of a field that is no item
  std::string* kept_ = nullptr;     // receives that content; null = skipped
  std::string type_meta_;
  std::string metadata_;
  std::size_t items_ = 0;
};

}  // namespace sluice::kube

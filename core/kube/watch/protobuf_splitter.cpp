// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/protobuf_splitter.hpp"

#include <algorithm>

namespace sluice::kube {
namespace {

constexpr std::size_t kFrameHeader = 4;

// runtime.Unknown
constexpr std::uint32_t kTypeMeta = 1;
constexpr std::uint32_t kRaw = 2;
// the lists of all kinds
constexpr std::uint32_t kMetadata = 1;
constexpr std::uint32_t kItems = 2;

// Removes up to `size` bytes from the front.
std::string_view take_front(std::string_view& bytes, std::uint64_t size) {
  const std::string_view out = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes.size())));
  bytes.remove_prefix(out.size());
  return out;
}

}  // namespace

lib::Status SizedCutter::begin(std::uint64_t size) {
  too_large_ = size > limit_;
  const std::size_t most = oversized_ ? kMaxSkippedBytes : limit_;
  if (size > most) return object_too_large(most);
  if (size == 0) return visit_({});
  left_ = size;
  return {};
}

lib::Status SizedCutter::take(std::string_view& bytes) {
  const std::string_view part = take_front(bytes, left_);
  left_ -= part.size();
  // Complete objects inside one chunk are visited without a copy.
  if (left_ == 0 && partial_.empty() && !too_large_) return visit_(part);
  const std::size_t most = too_large_ ? kKeptOfOversized : limit_;
  partial_ += part.substr(0, most - partial_.size());
  if (left_ != 0) return {};
  lib::Status status = too_large_ ? oversized_(partial_) : visit_(partial_);
  clear_buffer(partial_);
  return status;
}

lib::Status FrameSplitter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    lib::Status status;
    if (cutter_.inside()) {
      status = cutter_.take(bytes);
    } else {
      header_ += take_front(bytes, kFrameHeader - header_.size());
      if (header_.size() < kFrameHeader) return {};
      std::uint64_t size = 0;
      for (const char c : header_) size = size << 8 | static_cast<unsigned char>(c);
      header_.clear();
      // Four bytes of text are such a length.
      if (size > kMaxSkippedBytes) {
        return lib::invalid("a watch event was expected, not one of " + std::to_string(size) + " bytes");
      }
      status = cutter_.begin(size);
    }
    if (!status.ok()) return status;
  }
  return {};
}

lib::Status ProtobufListSplitter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t before = bytes.size();
    const bool in_list = place_ == Place::list;
    lib::Status status;
    if (magic_ < kProtobufMagic.size()) {
      status = take_magic(bytes);
    } else if (cutter_.inside()) {
      status = cutter_.take(bytes);
      if (!cutter_.inside()) ++items_;
    } else if (content_left_ != 0) {
      status = take_content(bytes);
    } else {
      status = take_start(bytes);
    }
    if (!status.ok()) return status;
    if (in_list) list_left_ -= before - bytes.size();
    if (place_ == Place::list && list_left_ == 0) {
      if (!start_.empty()) return too_long();
      place_ = Place::after_list;
    }
  }
  return {};
}

lib::Status ProtobufListSplitter::take_magic(std::string_view& bytes) {
  const std::string_view part = take_front(bytes, kProtobufMagic.size() - magic_);
  if (part != kProtobufMagic.substr(magic_, part.size())) {
    return lib::invalid("the list does not begin with the bytes k8s\\0");
  }
  magic_ += part.size();
  return {};
}

lib::Status ProtobufListSplitter::take_content(std::string_view& bytes) {
  const std::string_view part = take_front(bytes, content_left_);
  content_left_ -= part.size();
  if (kept_ != nullptr) *kept_ += part;
  return {};
}

lib::Status ProtobufListSplitter::take_start(std::string_view& bytes) {
  const std::size_t had = start_.size();
  std::uint64_t most = kMaxFieldStart - had;
  if (place_ == Place::list) most = std::min(most, list_left_);
  std::string_view rest = bytes;
  start_ += take_front(rest, most);
  FieldStart field;
  std::string_view problem;
  switch (read_field_start(start_, field, problem)) {
    case FieldStartResult::malformed:
      return lib::invalid("the list " + std::string(problem));
    case FieldStartResult::incomplete:
      bytes = rest;
      return {};
    case FieldStartResult::complete:
      break;
  }
  bytes.remove_prefix(field.length - had);
  start_.clear();
  if (place_ == Place::list && field.size > list_left_ - (field.length - had)) return too_long();
  return enter(field);
}

lib::Status ProtobufListSplitter::enter(const FieldStart& field) {
  const bool in_list = place_ == Place::list;
  const bool has_bytes = field.type == WireType::bytes;
  if (has_bytes && in_list && field.number == kItems) return enter_item(field);
  if (has_bytes && in_list && field.number == kMetadata) return enter_other(field, &metadata_);
  if (has_bytes && !in_list && field.number == kTypeMeta) return enter_other(field, &type_meta_);
  if (!has_bytes || in_list || field.number != kRaw) return enter_other(field, nullptr);
  if (place_ == Place::after_list) return lib::invalid("the body holds a second list");
  list_left_ = field.size;
  place_ = list_left_ != 0 ? Place::list : Place::after_list;
  return {};
}

lib::Status ProtobufListSplitter::enter_item(const FieldStart& field) {
  auto status = cutter_.begin(field.size);
  if (!cutter_.inside()) ++items_;
  return status;
}

lib::Status ProtobufListSplitter::enter_other(const FieldStart& field, std::string* kept) {
  if (field.size > kMaxSkippedBytes) return object_too_large(kMaxSkippedBytes);
  if (kept != nullptr && type_meta_.size() + metadata_.size() + field.size > kMaxEnvelopeBytes) {
    return envelope_too_large();
  }
  content_left_ = field.size;
  kept_ = kept;
  return {};
}

lib::Status ProtobufListSplitter::too_long() const {
  return lib::invalid("items[" + std::to_string(items_) + "]: a field is longer than the list");
}

lib::Result<std::string> ProtobufListSplitter::finish() {
  if (place_ != Place::after_list || content_left_ != 0 || !start_.empty()) return list_incomplete(items_);
  ProtobufToJson converter;
  const ConvertedObject list = converter.list(type_meta_, metadata_);
  if (!list.problem.empty()) return lib::invalid("the list " + list.problem);
  return std::string(list.json);
}

}  // namespace sluice::kube

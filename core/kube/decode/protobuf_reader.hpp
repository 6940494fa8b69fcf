// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads the fields of a protobuf message. Knows the wire format and no message. protobuf_reader.cpp is the only file
// that uses protozero, and catches its exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::kube {

enum class WireType : std::uint8_t { varint, bytes, fixed };

// The bytes of a field that precede its content.
struct FieldStart {
  std::uint32_t number = 0;
  WireType type = WireType::fixed;
  std::uint64_t varint = 0;  // the value of a varint, which has no further content
  std::uint64_t size = 0;    // of the content that follows
  std::size_t length = 0;    // of the start itself
};

// No start of a field is longer: two varints.
inline constexpr std::size_t kMaxFieldStart = 20;

enum class FieldStartResult : std::uint8_t { complete, incomplete, malformed };

// Reads the start of the field at the front of `bytes`. `problem` is set if it is malformed.
FieldStartResult read_field_start(std::string_view bytes, FieldStart& out, std::string_view& problem);

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::fixed;
  std::uint64_t varint = 0;
  std::string_view bytes;
};

class ProtobufReader {
 public:
  // The message must outlive the reader and its fields.
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // Reads the next field. False at the end of the message and after an error. A field that is longer than the rest of
  // the message is an error, but is returned with the bytes that are there.
  bool next(WireField& out);
  // What is wrong with the fields so far; empty if nothing is.
  std::string_view problem() const { return problem_; }

 private:
  std::string_view rest_;
  std::string_view problem_;
};

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/protobuf_reader.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

namespace sluice::kube {
namespace {

constexpr std::string_view kTooShort = "ends too early";

void read_start(std::string_view bytes, FieldStart& out) {
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  reader.next();
  out = {};
  out.number = reader.tag();
  const char* at = reader.data().data();
  // get_view() would truncate the size to 32 bits.
  const auto number = [&] { return protozero::decode_varint(&at, bytes.data() + bytes.size()); };
  switch (reader.wire_type()) {
    case protozero::pbf_wire_type::varint:
      out.type = WireType::varint;
      out.varint = number();
      break;
    case protozero::pbf_wire_type::length_delimited:
      out.type = WireType::bytes;
      out.size = number();
      break;
    case protozero::pbf_wire_type::fixed64:
      out.size = 8;
      break;
    default:  // next() rejects all others
      out.size = 4;
      break;
  }
  out.length = static_cast<std::size_t>(at - bytes.data());
}

}  // namespace

FieldStartResult read_field_start(std::string_view bytes, FieldStart& out, std::string_view& problem) {
  if (bytes.empty()) return FieldStartResult::incomplete;
  try {
    read_start(bytes, out);
    return FieldStartResult::complete;
  } catch (const protozero::end_of_buffer_exception&) {
    return FieldStartResult::incomplete;
  } catch (const protozero::varint_too_long_exception&) {
    problem = "holds a number of more than 64 bits";
  } catch (const protozero::unknown_pbf_wire_type_exception&) {
    problem = "holds a field of an unknown wire type";
  } catch (const protozero::invalid_tag_exception&) {
    problem = "holds a field with an invalid number";
  }
  return FieldStartResult::malformed;
}

bool ProtobufReader::next(WireField& out) {
  if (rest_.empty() || !problem_.empty()) return false;
  FieldStart field;
  const FieldStartResult result = read_field_start(rest_, field, problem_);
  if (result == FieldStartResult::incomplete) problem_ = kTooShort;
  if (result != FieldStartResult::complete) return false;
  rest_.remove_prefix(field.length);
  out = {field.number, field.type, field.varint, rest_};
  if (field.size > rest_.size()) {
    problem_ = kTooShort;
    return true;
  }
  out.bytes = rest_.substr(0, static_cast<std::size_t>(field.size));
  rest_.remove_prefix(out.bytes.size());
  return true;
}

}  // namespace sluice::kube

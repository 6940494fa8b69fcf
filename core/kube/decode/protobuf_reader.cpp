// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/protobuf_reader.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include <algorithm>

namespace sluice::kube {
namespace {

FieldStart field_start(std::string_view bytes) {
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  reader.next();
  FieldStart out;
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
  return out;
}

}  // namespace

lib::Result<std::optional<FieldStart>> read_field_start(std::string_view bytes) {
  if (bytes.empty()) return std::optional<FieldStart>();
  try {
    return std::optional(field_start(bytes));
  } catch (const protozero::end_of_buffer_exception&) {
    return std::optional<FieldStart>();
  } catch (const protozero::varint_too_long_exception&) {
    return lib::invalid("holds a number of more than 64 bits");
  } catch (const protozero::unknown_pbf_wire_type_exception&) {
    return lib::invalid("holds a field of an unknown wire type");
  } catch (const protozero::invalid_tag_exception&) {
    return lib::invalid("holds a field with an invalid number");
  }
}

bool ProtobufReader::next(WireField& out) {
  if (rest_.empty() || !status_.ok()) return false;
  const auto start = read_field_start(rest_);
  if (!start || !*start) {
    status_ = start ? lib::invalid("ends too early") : start.status();
    return false;
  }
  const FieldStart& field = **start;
  rest_.remove_prefix(field.length);
  out = {field.number, field.type, field.varint, rest_};
  if (field.size > rest_.size()) {
    status_ = lib::invalid("ends too early");
    return true;
  }
  out.bytes = rest_.substr(0, static_cast<std::size_t>(field.size));
  rest_.remove_prefix(out.bytes.size());
  return true;
}

}  // namespace sluice::kube

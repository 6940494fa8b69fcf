// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes protobuf for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/kube/decode/protobuf_to_json.hpp"

namespace sluice::test {

inline std::string pb_varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

inline std::string pb_number(std::uint32_t field, std::uint64_t value) {
  return pb_varint(field << 3) + pb_varint(value);
}

inline std::string pb_bytes(std::uint32_t field, std::string_view content) {
  return pb_varint(field << 3 | 2) + pb_varint(content.size()) + std::string(content);
}

// The magic bytes and a runtime.Unknown.
inline std::string pb_unknown(std::string_view kind, std::string_view raw) {
  return std::string(kube::kProtobufMagic) + pb_bytes(1, pb_bytes(1, "v1") + pb_bytes(2, kind)) + pb_bytes(2, raw) +
         pb_bytes(3, "") + pb_bytes(4, "");
}

// A frame of a watch.
inline std::string pb_frame(std::string_view content) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(content.size() >> shift);
  return out.append(content);
}

inline std::string pb_event(std::string_view type, std::string_view object) {
  return pb_bytes(1, type) + pb_bytes(2, pb_bytes(1, object));
}

inline std::string pb_metadata(std::string_view name, std::string_view name_space = "demo",
                               std::string_view version = "7") {
  return pb_bytes(1, name) + pb_bytes(3, name_space) + pb_bytes(6, version);
}

// A Service whose spec has these fields.
inline std::string pb_service(std::string_view name, std::string_view spec = {}) {
  return pb_bytes(1, pb_metadata(name)) + pb_bytes(2, spec);
}

inline std::string pb_list_meta(std::string_view version, std::string_view token = {}) {
  return pb_bytes(2, version) + pb_bytes(3, token);
}

}  // namespace sluice::test

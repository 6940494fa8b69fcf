// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The fields of Kubernetes' protobuf messages that the decoder reads, with their names in JSON. The decoder sees only
// fields that are listed here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/model/event.hpp"

namespace sluice::kube {

struct ProtobufMessage;

struct ProtobufField {
  enum class Type : std::uint8_t {
    text,
    boolean,
    integer,
    message,
    time,        // meta/v1 Time
    text_by_key  // a map from strings to strings
  };
  // What JSON shows of a zero or an empty text. Kubernetes' protobuf always has fields that are no pointers; JSON omits
  // zeros of those with `omitempty`.
  enum class Zero : std::uint8_t { omitted, shown };
  // Which details a field belongs to (see model::WantedDetails). Others are read always.
  enum class Of : std::uint8_t { traffic, service_details, endpoint_details };

  std::uint32_t number;
  std::string_view key;  // in JSON
  Type type;
  Zero zero = Zero::omitted;
  bool repeated = false;
  const ProtobufMessage* message = nullptr;   // of a message
  std::span<const std::string_view> keys = {};  // of text_by_key: the keys that are read
  bool wanted_annotations = false;              // of text_by_key: and those with a wanted prefix
  Of of = Of::traffic;
};

struct ProtobufMessage {
  std::span<const ProtobufField> fields;  // by number
};

// `endpoints`: core/v1 Endpoints in place of EndpointSlices.
const ProtobufMessage& protobuf_message(model::ResourceKind kind, bool endpoints);
const ProtobufMessage& protobuf_status();
const ProtobufMessage& protobuf_list_meta();

}  // namespace sluice::kube

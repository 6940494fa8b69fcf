// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Converts Kubernetes' protobuf to JSON, so that the decoder has one set of rules for both. Writes only the fields in
// protobuf_fields.cpp, as the API server writes them in JSON. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kube/decode/protobuf_fields.hpp"
#include "core/kube/decode/protobuf_reader.hpp"

namespace sluice::kube {

// What a body and an object of a watch event begin with; a runtime.Unknown follows.
inline constexpr std::string_view kProtobufMagic("k8s\0", 4);

struct ConvertedObject {
  // Valid JSON, with the fields that are readable. Valid until the next call. As the parser of JSON needs it,
  // SIMDJSON_PADDING bytes follow that it may read.
  std::string_view json;
  std::string problem;    // "is not valid protobuf: spec.ports[0] ends too early"; empty if all fields are readable
};

class ProtobufToJson {
 public:
  // `details`: the details to convert; null: none.
  explicit ProtobufToJson(model::WantedDetailsPtr details = nullptr) : details_(std::move(details)) {}

  // An element of a list.
  ConvertedObject object(const ProtobufMessage& message, std::string_view bytes);
  // A meta/v1 WatchEvent. `message` is that of objects of the kind `kind_name`; of other kinds, only Status has fields.
  ConvertedObject watch_event(std::string_view kind_name, const ProtobufMessage& message, std::string_view bytes);
  // A body that may be a Status.
  ConvertedObject status(std::string_view body);
  // A list without its items, from the messages of its kind (runtime.TypeMeta) and its metadata.
  ConvertedObject list(std::string_view type_meta, std::string_view metadata);

 private:
  struct Found {
    const ProtobufField* field;
    WireField wire;
  };

  void begin();
  ConvertedObject end();
  void fail(std::string problem);
  template <class Step, class Write>
  void within(Step step, Write&& write);

  void write_key(std::string_view key);  // of the tables: needs no escapes
  void write_text(std::string_view text);
  void write_unknown(std::string_view kind_name, const ProtobufMessage* message, std::string_view bytes);
  void write_message(const ProtobufMessage& message, std::string_view bytes);
  void write_fields(const ProtobufMessage& message, std::string_view bytes);
  void write_field(std::size_t first, std::size_t end);
  void write_value(const ProtobufField& field, const WireField& wire);
  void write_entry(const ProtobufField& field, std::string_view bytes);
  void write_time(std::string_view bytes);
  void find_fields(const ProtobufMessage& message, std::string_view bytes);
  void check(const ProtobufReader& reader);
  bool wants(const ProtobufField& field) const;
  bool wants_key(const ProtobufField& field, std::string_view key) const;

  model::WantedDetailsPtr details_;
  std::string out_;
  std::vector<Found> found_;  // a stack: of each message around the current one, the fields that were found
  std::string path_;          // of the first problem
  std::string problem_;
};

}  // namespace sluice::kube

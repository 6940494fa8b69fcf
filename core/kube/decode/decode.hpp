// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decodes a Kubernetes object, watch event, list envelope or Status in JSON or protobuf. Strict about types and ranges,
// ignores unknown fields (BEH 1.2-1.4, 1.7). The rules of each kind are in decode_<kind>.cpp; protobuf is converted to
// JSON first.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/kube/decode/protobuf_to_json.hpp"
#include "core/model/event.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

using Object = decltype(model::Upsert::object);

// A valid object that a proxy does not need.
struct Ignored {
  std::string reason;
};
// An object of another kind than requested.
struct WrongKind {
  std::string kind;
};
// An invalid object.
struct Failed {
  std::string path;     // "spec.ports[0].port"; empty when the text is not JSON
  std::string problem;  // "0 is not a port (1-65535)"
  std::string to_string() const { return path.empty() ? problem : path + ": " + problem; }
};

// A core/v1 Endpoints converted to EndpointSlices with generated names.
struct Slices {
  std::vector<model::EndpointSlice> slices;
};

struct Decoded {
  model::ObjectName name;  // name.name is empty if it could not be read
  std::string resource_version;
  std::variant<Object, Ignored, WrongKind, Failed, Slices> result = Ignored{};
  std::vector<std::string> notes;  // ignored parts: for each a message with its field
};

// metav1.Status: an error of the API server.
struct ApiStatus {
  int code = 0;
  std::string reason;
  std::string message;
  std::optional<std::chrono::seconds> retry_after;
  bool too_large_resource_version = false;

  bool expired() const { return code == 410 || reason == "Expired" || reason == "Gone"; }
};

struct WatchEvent {
  enum class Type { added, modified, deleted, bookmark, error, unknown };
  Type type = Type::unknown;
  std::string type_text;
  Decoded object;                   // deleted and bookmark: only the metadata
  bool initial_events_end = false;  // bookmark: end of the initial events
  ApiStatus status;                 // error
};

// A list without its items.
struct ListEnvelope {
  std::string kind;
  std::string resource_version;
  std::string continue_token;
};

// The fields that identify a document before it is decoded.
struct ObjectHead {
  std::string api_version;
  std::string kind;
  model::ObjectName name;
  bool other_proxy = false;  // label service.kubernetes.io/service-proxy-name
  bool headless = false;     // label service.kubernetes.io/headless
};

struct DecoderOptions {
  // For manifests, which have not passed an API server: apply its defaults (the namespace "default", the empty name of
  // a slice's port).
  bool apply_server_defaults = false;
  // Decode core/v1 Endpoints in place of EndpointSlices.
  bool endpoints = false;
  // The details to decode; null: none.
  model::WantedDetailsPtr details = nullptr;
};

enum class Encoding { json, protobuf };

// Keeps the parser's buffers between calls. Not thread-safe. Bytes that are not in the encoding fail with
// `unsupported`, wrong content with `invalid`. An object or event that is not in the encoding still has its name, if
// that is readable.
class Decoder {
 public:
  explicit Decoder(DecoderOptions options = {});
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  Decoded object(model::ResourceKind kind, std::string_view bytes, Encoding encoding = Encoding::json);
  lib::Result<WatchEvent> watch_event(model::ResourceKind kind, std::string_view bytes,
                                      Encoding encoding = Encoding::json);
  // The same for bytes that are known to be invalid or incomplete because of `problem`: only finds the name, if that is
  // readable. A deletion needs only the name.
  Decoded unreadable_object(model::ResourceKind kind, std::string_view bytes, std::string problem,
                            Encoding encoding = Encoding::json);
  lib::Result<WatchEvent> unreadable_event(model::ResourceKind kind, std::string_view bytes, std::string problem,
                                           Encoding encoding = Encoding::json);
  lib::Result<ListEnvelope> list_envelope(std::string_view json);
  // Absent if the body is not a Status.
  std::optional<ApiStatus> status(std::string_view body, Encoding encoding = Encoding::json);
  lib::Result<ObjectHead> head(std::string_view json);

  // The `kind` field of objects that are decoded as this kind.
  std::string_view kind_name(model::ResourceKind kind) const;

 private:
  class Parser;
  ConvertedObject converted(model::ResourceKind kind, std::string_view bytes);
  ConvertedObject converted_event(model::ResourceKind kind, std::string_view bytes);
  Decoded object_in_json(model::ResourceKind kind, std::string_view json, bool padded);
  lib::Result<WatchEvent> event_in_json(model::ResourceKind kind, std::string_view json, bool padded);

  DecoderOptions options_;
  std::unique_ptr<Parser> parser_;
  ProtobufToJson converter_;
};

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// JSON text of one Kubernetes object, watch event, list envelope or Status → values.
// Strict about types and ranges, tolerant of fields it does not know (BEH 1.2-1.4, 1.7).
// The rules of each kind are in decode_<kind>.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.hpp"
#include "core/model/event.hpp"

namespace sluice::kube {

using Object = decltype(model::Upsert::object);

// The object is fine and of no use to a proxy.
struct Ignored {
  std::string reason;
};
// The text is an object of another kind, so the answer is not what was asked for.
struct WrongKind {
  std::string kind;
};
// The object cannot be used.
struct Failed {
  std::string path;     // "spec.ports[0].port"; empty when the text is not JSON
  std::string problem;  // "0 is not a port (1-65535)"
  std::string to_string() const { return path.empty() ? problem : path + ": " + problem; }
};

// A core/v1 Endpoints, as the EndpointSlices it stands for; their names are made up.
struct Slices {
  std::vector<model::EndpointSlice> slices;
};

struct Decoded {
  model::ObjectName name;  // name.name is empty when it could not be read
  std::string resource_version;
  std::variant<Object, Ignored, WrongKind, Failed, Slices> result = Ignored{};
  std::vector<std::string> notes;  // parts that were left out, each a sentence with its field
};

// metav1.Status: how the API server says no.
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
  Decoded object;                   // deleted and bookmark: the metadata alone
  bool initial_events_end = false;  // bookmark: everything there was has been sent
  ApiStatus status;                 // error
};

// A list without its items.
struct ListEnvelope {
  std::string kind;
  std::string resource_version;
  std::string continue_token;
};

// What has to be known of a document before it is clear what it is.
struct ObjectHead {
  std::string api_version;
  std::string kind;
  model::ObjectName name;
  bool other_proxy = false;  // label service.kubernetes.io/service-proxy-name
  bool headless = false;     // label service.kubernetes.io/headless
};

struct DecoderOptions {
  // The object was written by a person and passed no API server: fill in what a server
  // would have (the namespace "default", the empty name of a slice's port).
  bool apply_server_defaults = false;
  // EndpointSlices come as core/v1 Endpoints.
  bool endpoints = false;
};

// Keeps the parser's buffers between calls. One thread. A text that is not JSON fails with
// `unsupported`, one with a wrong content with `invalid`; an object or event that is not
// JSON still tells its name where that can be read.
class Decoder {
 public:
  explicit Decoder(DecoderOptions options = {});
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  Decoded object(model::ResourceKind kind, std::string_view json);
  base::Result<WatchEvent> watch_event(model::ResourceKind kind, std::string_view json);
  // The same for text that is known to be unusable, whole or not, for this reason: who it
  // is about, as far as that can be read. A deletion needs no more than that.
  Decoded unreadable_object(model::ResourceKind kind, std::string_view text, std::string problem) const;
  base::Result<WatchEvent> unreadable_event(model::ResourceKind kind, std::string_view text, std::string problem) const;
  base::Result<ListEnvelope> list_envelope(std::string_view json);
  // Absent when the text is not a Status.
  std::optional<ApiStatus> status(std::string_view json);
  base::Result<ObjectHead> head(std::string_view json);

  // What an object of this kind calls itself here.
  std::string_view kind_name(model::ResourceKind kind) const;

 private:
  class Parser;
  DecoderOptions options_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::kube

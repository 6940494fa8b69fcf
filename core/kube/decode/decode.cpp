// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/decode.hpp"

#include <algorithm>
#include <utility>

#include "core/kube/decode/decode_object.hpp"
#include "core/kube/watch/name_salvage.hpp"

namespace sluice::kube {
namespace {

bool is_dns_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

void read_name(const JsonField& metadata, model::ResourceKind kind, bool apply_server_defaults,
               model::ObjectName& out) {
  const JsonField name = metadata.get("name");
  const JsonField name_space = metadata.get("namespace");
  const std::string_view name_text = name.text();
  std::string_view space_text = name_space.text();
  if (!is_dns_subdomain(name_text)) {
    name.fail(name_text.empty() ? "is missing" : in_quotes(name_text) + " is not the name of an object");
  }
  if (model::cluster_wide(kind)) {
    space_text = {};
  } else {
    if (space_text.empty() && apply_server_defaults) space_text = "default";
    if (!is_dns_label(space_text)) {
      name_space.fail(space_text.empty() ? "is missing" : in_quotes(space_text) + " is not the name of a namespace");
    }
  }
  if (metadata.failed()) return;
  out.name_space = base::Symbol(space_text);
  out.name = name_text;
}

Decoded decode_object(model::ResourceKind kind, std::string_view kind_name, const JsonField& root,
                      const FieldError& error, const DecoderOptions& options, bool metadata_only) {
  Decoded out;
  const JsonField kind_field = root.get("kind");
  const std::string_view kind_text = kind_field.text();
  const JsonField metadata = root.get("metadata");
  const JsonField version = metadata.get("resourceVersion");
  out.resource_version = version.text();
  if (!kind_text.empty() && kind_text != kind_name) {
    out.result = WrongKind{std::string(kind_text)};
    return out;
  }
  read_name(metadata, kind, options.apply_server_defaults, out.name);
  if (!root.failed() && !metadata_only) {
    const DecodeContext context{out.name, options.apply_server_defaults, options.details.get(), out.notes};
    KindResult result;
    switch (kind) {
      case model::ResourceKind::service:
        result = decode_service(root, metadata, context);
        break;
      case model::ResourceKind::endpoint_slice:
        result = options.endpoints ? decode_endpoints(root, metadata, context)
                                   : decode_endpoint_slice(root, metadata, context);
        break;
      case model::ResourceKind::node:
        result = decode_node(root, metadata, context);
        break;
      case model::ResourceKind::service_cidr:
        result = decode_service_cidr(root, context);
        break;
    }
    std::visit([&](auto& value) { out.result = std::move(value); }, result);
  }
  if (root.failed()) out.result = Failed{error.path, error.problem};
  return out;
}

// An invalid object, with its name if that is readable.
Decoded identified(const SalvagedHead& head, model::ResourceKind kind, std::string_view kind_name,
                   std::string problem) {
  Decoded out;
  out.result = Failed{"", std::move(problem)};
  const bool is_cluster_wide = model::cluster_wide(kind);
  const bool is_ours = head.kind.empty() || head.kind == kind_name;
  if (!is_ours || !is_dns_subdomain(head.name) || !(is_cluster_wide || is_dns_label(head.name_space))) return out;
  out.name.name_space = base::Symbol(is_cluster_wide ? std::string_view() : head.name_space);
  out.name.name = head.name;
  out.resource_version = head.resource_version;
  return out;
}

WatchEvent::Type event_type(std::string_view text) {
  using Type = WatchEvent::Type;
  for (const auto& [name, type] : {std::pair<std::string_view, Type>{"ADDED", Type::added},
                                   {"MODIFIED", Type::modified},
                                   {"DELETED", Type::deleted},
                                   {"BOOKMARK", Type::bookmark},
                                   {"ERROR", Type::error}}) {
    if (text == name) return type;
  }
  return Type::unknown;
}

}  // namespace

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), is_dns_character);
}

bool is_dns_subdomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  while (true) {
    const auto dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || part.front() == '-' || part.back() == '-' ||
        !std::all_of(part.begin(), part.end(), is_dns_character)) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

class Decoder::Parser {
 public:
  // The document is valid until the next call.
  // `padded`: the parser may read SIMDJSON_PADDING bytes behind the text, which otherwise is copied.
  lib::Result<simdjson::dom::element> parse(std::string_view json, bool padded = false) {
    // Do not keep the large buffers of a rare huge object.
    constexpr std::size_t kKept = 1u << 20;
    giant_.reset();
    simdjson::dom::parser* parser = &usual_;
    if (json.size() > kKept) parser = &giant_.emplace();
    simdjson::dom::element root;
    const auto code = parser->parse(json.data(), json.size(), !padded).get(root);
    if (code == simdjson::SUCCESS) return root;
    return lib::Status(lib::StatusCode::unsupported,
                       std::string("is not valid JSON: ") + simdjson::error_message(code));
  }

 private:
  simdjson::dom::parser usual_;
  std::optional<simdjson::dom::parser> giant_;
};

Decoder::Decoder(DecoderOptions options)
    : options_(std::move(options)), parser_(std::make_unique<Parser>()), converter_(options_.details) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

ConvertedObject Decoder::converted(model::ResourceKind kind, std::string_view bytes) {
  return converter_.object(protobuf_message(kind, options_.endpoints), bytes);
}

ConvertedObject Decoder::converted_event(model::ResourceKind kind, std::string_view bytes) {
  return converter_.watch_event(kind_name(kind), protobuf_message(kind, options_.endpoints), bytes);
}

Decoded Decoder::object(model::ResourceKind kind, std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::protobuf) {
    const ConvertedObject object = converted(kind, bytes);
    if (!object.problem.empty()) return unreadable_object(kind, object.json, object.problem);
    return object_in_json(kind, object.json, true);
  }
  return object_in_json(kind, bytes, false);
}

Decoded Decoder::object_in_json(model::ResourceKind kind, std::string_view json, bool padded) {
  const auto document = parser_->parse(json, padded);
  if (!document) return unreadable_object(kind, json, document.status().message());
  FieldError error;
  const JsonField root(document.value(), error);
  return decode_object(kind, kind_name(kind), root, error, options_, false);
}

lib::Result<WatchEvent> Decoder::watch_event(model::ResourceKind kind, std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::protobuf) {
    const ConvertedObject event = converted_event(kind, bytes);
    if (!event.problem.empty()) return unreadable_event(kind, event.json, event.problem);
    return event_in_json(kind, event.json, true);
  }
  return event_in_json(kind, bytes, false);
}

lib::Result<WatchEvent> Decoder::event_in_json(model::ResourceKind kind, std::string_view json, bool padded) {
  const auto document = parser_->parse(json, padded);
  if (!document) return unreadable_event(kind, json, document.status().message());
  FieldError error;
  const JsonField root(document.value(), error);
  const JsonField type = root.get("type");
  WatchEvent out;
  out.type_text = type.text();
  out.type = event_type(out.type_text);
  if (root.failed()) return lib::invalid("a watch event: " + error.to_string());

  const JsonField object = root.get("object");
  switch (out.type) {
    case WatchEvent::Type::error:
      out.status = decode_status(object);
      break;
    case WatchEvent::Type::bookmark: {
      // Only the resourceVersion is required in a bookmark.
      const JsonField metadata = object.get("metadata");
      const JsonField version = metadata.get("resourceVersion");
      const JsonField annotations = metadata.get("annotations");
      const JsonField initial_events_end = annotations.get("k8s.io/initial-events-end");
      out.object.resource_version = version.text();
      out.initial_events_end = initial_events_end.text() == "true";
      break;
    }
    case WatchEvent::Type::added:
    case WatchEvent::Type::modified:
    case WatchEvent::Type::deleted: {
      if (!object.present()) return lib::invalid("a watch event has no object");
      // Field paths in errors start at the object, as for listed objects.
      FieldError object_error;
      const JsonField own_root(object.value(), object_error);
      out.object =
          decode_object(kind, kind_name(kind), own_root, object_error, options_, out.type == WatchEvent::Type::deleted);
      break;
    }
    case WatchEvent::Type::unknown:
      break;
  }
  if (root.failed()) return lib::invalid("a watch event: " + error.to_string());
  return out;
}

Decoded Decoder::unreadable_object(model::ResourceKind kind, std::string_view bytes, std::string problem,
                                   Encoding encoding) {
  const std::string_view text = encoding == Encoding::protobuf ? converted(kind, bytes).json : bytes;
  return identified(salvage_object(text), kind, kind_name(kind), std::move(problem));
}

lib::Result<WatchEvent> Decoder::unreadable_event(model::ResourceKind kind, std::string_view bytes,
                                                  std::string problem, Encoding encoding) {
  const std::string_view text = encoding == Encoding::protobuf ? converted_event(kind, bytes).json : bytes;
  const SalvagedHead head = salvage_event(text);
  WatchEvent out;
  out.type_text = head.type;
  out.type = event_type(head.type);
  out.object = identified(head, kind, kind_name(kind), problem);
  const bool is_change = out.type == WatchEvent::Type::added || out.type == WatchEvent::Type::modified ||
                         out.type == WatchEvent::Type::deleted;
  if (!is_change || out.object.name.name.empty())
    return lib::Status(lib::StatusCode::unsupported, "a watch event " + problem);
  return out;
}

std::string_view Decoder::kind_name(model::ResourceKind kind) const {
  if (kind == model::ResourceKind::endpoint_slice && options_.endpoints) return "Endpoints";
  return model::resource_kind_name(kind);
}

lib::Result<ListEnvelope> Decoder::list_envelope(std::string_view json) {
  const auto document = parser_->parse(json);
  if (!document) return document.status().prefixed("the list");
  FieldError error;
  const JsonField root(document.value(), error);
  const JsonField kind = root.get("kind");
  const JsonField metadata = root.get("metadata");
  const JsonField version = metadata.get("resourceVersion");
  const JsonField token = metadata.get("continue");
  ListEnvelope out;
  out.kind = kind.text();
  out.resource_version = version.text();
  out.continue_token = token.text();
  if (root.failed()) return lib::invalid("the list: " + error.to_string());
  return out;
}

std::optional<ApiStatus> Decoder::status(std::string_view body, Encoding encoding) {
  if (encoding == Encoding::protobuf) return status(converter_.status(body).json);
  const auto document = parser_->parse(body);
  if (!document) return std::nullopt;
  FieldError error;
  const JsonField root(document.value(), error);
  const JsonField kind = root.get("kind");
  if (kind.text() != "Status") return std::nullopt;
  return decode_status(root);
}

lib::Result<ObjectHead> Decoder::head(std::string_view json) {
  const auto document = parser_->parse(json);
  if (!document) return document.status();
  FieldError error;
  const JsonField root(document.value(), error);
  const JsonField api_version = root.get("apiVersion");
  const JsonField kind = root.get("kind");
  ObjectHead out;
  out.api_version = api_version.text();
  out.kind = kind.text();
  const JsonField metadata = root.get("metadata");
  const JsonField name = metadata.get("name");
  const JsonField name_space = metadata.get("namespace");
  const JsonField labels = metadata.get("labels");
  const JsonField other_proxy = labels.get("service.kubernetes.io/service-proxy-name");
  const JsonField headless = labels.get("service.kubernetes.io/headless");
  if (root.failed()) return lib::invalid(error.to_string());
  out.name.name = name.text();
  out.name.name_space = base::Symbol(name_space.text());
  out.other_proxy = other_proxy.present();
  out.headless = headless.present();
  if (root.failed()) return lib::invalid(error.to_string());
  return out;
}

}  // namespace sluice::kube

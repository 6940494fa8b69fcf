// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/recording/recording_line.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/kube/decode/json_field.hpp"
#include "core/kube/decode/text.hpp"
#include "core/kube/recording/encode.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::kube {
namespace {

constexpr std::string_view kFormat = "sluice-recording";
// Ten years; more is an error, and would overflow later.
constexpr double kMaxMilliseconds = 10 * 365.0 * 86400e3;

constexpr std::array kTypes = std::to_array<std::pair<std::string_view, LineType>>({
    {"LIST_BEGIN", LineType::list_begin},
    {"LIST_END", LineType::list_end},
    {"MODIFIED", LineType::changed},
    {"ADDED", LineType::changed},
    {"DELETED", LineType::deleted},
    {"UNUSABLE", LineType::unusable},
});

std::string_view type_text(LineType type) {
  for (const auto& [text, value] : kTypes) {
    if (value == type) return text;
  }
  return {};
}

std::string list_body(LineType type, model::ResourceKind kind) {
  return std::string(R"("type":")") + std::string(type_text(type)) + R"(","kind":")" +
         std::string(model::resource_kind_name(kind)) + '"';
}
std::string object_body(LineType type, const std::string& object) {
  return std::string(R"("type":")") + std::string(type_text(type)) + R"(","object":)" + object;
}

std::string body(const model::ListBegin& event) { return list_body(LineType::list_begin, event.kind); }
std::string body(const model::ListEnd& event) { return list_body(LineType::list_end, event.kind); }
std::string body(const model::Upsert& event) { return object_body(LineType::changed, encode_object(event.object)); }
std::string body(const model::Remove& event) {
  return object_body(LineType::deleted, encode_reference(event.kind, event.name));
}
std::string body(const model::Unusable& event) {
  return object_body(LineType::unusable, encode_reference(event.kind, event.name));
}

void read_type(const JsonField& type, LineType& out) {
  for (const auto& [text, value] : kTypes) {
    if (type.text() != text) continue;
    out = value;
    return;
  }
  type.fail(type.present() ? in_quotes(type.text()) + " is not an event type" : "is missing");
}

void read_kind(const JsonField& kind, model::ResourceKind& out) {
  for (const auto known : model::kResourceKinds) {
    if (kind.text() != model::resource_kind_name(known)) continue;
    out = known;
    return;
  }
  kind.fail(kind.present() ? in_quotes(kind.text()) +
                                 " is not a kind of object in a recording (Service, EndpointSlice, Node, ServiceCIDR)"
                           : "is missing");
}

model::ObjectName read_name(const JsonField& object) {
  const JsonField metadata = object.get("metadata");
  const JsonField name_space = metadata.get("namespace");
  const JsonField name = metadata.get("name");
  if (name.text().empty()) name.fail("is missing");
  return {base::Symbol(name_space.text()), std::string(name.text())};
}

lib::Clock::Duration read_time(const JsonField& ms, lib::Clock::Duration before) {
  if (!ms.present()) return before;
  double value = 0;
  if (ms.value().get(value) != simdjson::SUCCESS || value < 0 || value > kMaxMilliseconds) {
    ms.fail("is not a number of milliseconds since the start");
    return before;
  }
  return lib::Clock::Duration(std::llround(value * 1e6));
}

}  // namespace

std::string header_line(const RecordingHeader& header) {
  nlohmann::ordered_json out;
  out["format"] = std::string(kFormat);
  out["version"] = kRecordingVersion;
  out["program"] = header.program;
  out["node"] = header.node;
  out["started"] = lib::rfc3339(header.started, lib::Fraction::nanoseconds_or_none);
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string event_line(lib::Clock::Duration since_start, const std::string& body) {
  char time[48];
  const long long us = std::chrono::duration_cast<std::chrono::microseconds>(since_start).count();
  std::snprintf(time, sizeof time, R"({"ms":%lld.%03d,)", us / 1000, static_cast<int>(us % 1000));
  std::string out;
  out.reserve(body.size() + sizeof time);
  out.append(time).append(body).append("}\n");
  return out;
}

std::string event_body(const model::Event& event) {
  return std::visit([](const auto& value) { return body(value); }, event);
}

class RecordingLineParser::Parser {
 public:
  // The document is valid until the next call.
  lib::Result<simdjson::dom::element> parse(std::string_view json) {
    simdjson::dom::element root;
    const auto code = parser_.parse(json.data(), json.size()).get(root);
    if (code == simdjson::SUCCESS) return root;
    return lib::invalid(std::string("is not valid JSON: ") + simdjson::error_message(code));
  }

 private:
  simdjson::dom::parser parser_;
};

RecordingLineParser::RecordingLineParser() : parser_(std::make_unique<Parser>()) {}
RecordingLineParser::~RecordingLineParser() = default;

lib::Result<RecordingHeader> RecordingLineParser::parse_header(std::string_view line) {
  const lib::Status no_header = lib::invalid("does not begin with the header of a recording");
  const auto document = parser_->parse(line);
  if (!document) return no_header;
  FieldError error;
  const JsonField root(document.value(), error);
  const JsonField format = root.get("format");
  const JsonField version = root.get("version");
  const JsonField program = root.get("program");
  const JsonField node = root.get("node");
  const JsonField started = root.get("started");
  if (format.text() != kFormat) return no_header;

  RecordingHeader out;
  out.program = program.text();
  const auto number = version.integer();
  if (!number || *number < 1) version.fail("is not a version of the format");
  if (number && *number > kRecordingVersion) {
    return lib::Status(lib::StatusCode::unsupported, "has version " + std::to_string(*number) +
                                                           " of the format, written by " + in_quotes(out.program) +
                                                           "; this program reads up to version " +
                                                           std::to_string(kRecordingVersion));
  }
  out.node = node.text();
  const auto time = lib::parse_rfc3339(started.text());
  if (!time) started.fail("is not a time such as 2026-11-21T06:00:00Z");
  if (root.failed()) return lib::invalid(error.to_string());
  out.started = *time;
  return out;
}

lib::Result<RecordingLine> RecordingLineParser::parse_line(std::string_view line, lib::Clock::Duration before) {
  const auto document = parser_->parse(line);
  if (!document) return document.status();
  FieldError error;
  const JsonField root(document.value(), error);
  const JsonField ms = root.get("ms");
  const JsonField type = root.get("type");
  const JsonField kind = root.get("kind");
  const JsonField object = root.get("object");
  const JsonField object_kind = object.get("kind");
  RecordingLine out;
  out.since_start = read_time(ms, before);
  read_type(type, out.type);
  const bool about_list = out.type == LineType::list_begin || out.type == LineType::list_end;
  if (!about_list && !object.present()) object.fail("is missing");
  read_kind(about_list ? kind : object_kind, out.kind);
  if (out.type == LineType::deleted || out.type == LineType::unusable) out.name = read_name(object);
  if (root.failed()) return lib::invalid(error.to_string());
  return out;
}

}  // namespace sluice::kube

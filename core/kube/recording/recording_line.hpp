// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lines of a recording: one JSON document each. The first is a header, the others are the events of a source in
// order.
//
//   {"format":"sluice-recording","version":1,"program":"sluiced 0.1.0","node":"n1","started":"2026-11-21T06:00:00Z"}
//   {"ms":12.034,"type":"LIST_BEGIN","kind":"Service"}
//   {"ms":12.101,"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Service","metadata":{…},"spec":{…}}}
//   {"ms":12.230,"type":"LIST_END","kind":"Service"}
//   {"ms":93.512,"type":"DELETED","object":{"apiVersion":"v1","kind":"Service","metadata":{…}}}
//
// An event about an object has the form of a watch event, plus the milliseconds since the start. ADDED means the same
// as MODIFIED. UNUSABLE names an object that the source could not decode.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "core/model/event.hpp"
#include "lib/clock.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

inline constexpr int kRecordingVersion = 1;

struct RecordingHeader {
  std::string program;  // "sluiced 0.1.0"
  std::string node;
  std::chrono::system_clock::time_point started;
};

// Both include the newline.
std::string header_line(const RecordingHeader& header);
std::string event_line(lib::Clock::Duration since_start, const std::string& body);

// An event_line without its time, which is expensive to make.
std::string event_body(const model::Event& event);

enum class LineType { list_begin, list_end, changed, deleted, unusable };

// A well-formed line. The object of a `changed` line is not decoded here.
struct RecordingLine {
  LineType type = LineType::changed;
  model::ResourceKind kind = model::ResourceKind::service;
  model::ObjectName name;  // deleted and unusable
  lib::Clock::Duration since_start{};
};

// Keeps the parser's buffers between calls. Not thread-safe.
//
// Errors are predicates ("is not valid JSON: …"), with the field before them if there is one ("started: is not a time
// …"). They do not name the file: the caller prefixes its path.
class RecordingLineParser {
 public:
  RecordingLineParser();
  ~RecordingLineParser();

  // `program` and `node` may be missing; they are empty then. If the version is too new, the error names the program
  // that wrote the recording.
  lib::Result<RecordingHeader> parse_header(std::string_view line);
  // A line without a time gets the time `before` of the previous line.
  lib::Result<RecordingLine> parse_line(std::string_view line, lib::Clock::Duration before);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sluice::kube

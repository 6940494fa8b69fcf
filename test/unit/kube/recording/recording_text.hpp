// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Makes recordings as text.
#pragma once

#include <string>

namespace sluice::test {

inline const std::string kRecordingHeader =
    R"({"format":"sluice-recording","version":1,"program":"sluiced test","node":"node-1",)"
    R"("started":"2026-11-21T06:00:00Z"})"
    "\n";

// An event about a Service demo/NAME at that time.
inline std::string service_event(const std::string& ms, const std::string& type, const std::string& name,
                                 const std::string& spec = R"("clusterIP":"172.30.0.1","ports":[{"port":80}])") {
  return R"({"ms":)" + ms + R"(,"type":")" + type +
         R"(","object":{"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
         R"(","namespace":"demo"},"spec":{)" + spec + "}}}\n";
}
inline std::string list_event(const std::string& ms, const std::string& type, const std::string& kind) {
  return R"({"ms":)" + ms + R"(,"type":")" + type + R"(","kind":")" + kind + "\"}\n";
}

// A header and a list of every kind, with a single Service, all at millisecond 1.
inline std::string listed_recording() {
  std::string out = kRecordingHeader;
  out += list_event("1", "LIST_BEGIN", "Service") + service_event("1", "ADDED", "web") +
         list_event("1", "LIST_END", "Service");
  for (const char* kind : {"EndpointSlice", "Node"}) {
    out += list_event("1", "LIST_BEGIN", kind) + list_event("1", "LIST_END", kind);
  }
  return out;
}

}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A reflector of Services with a scripted transport, a fake clock and captured logs.
#pragma once

#include <string>

#include "core/kube/watch/reflector.hpp"
#include "test/unit/kube/event_recorder.hpp"
#include "test/unit/kube/watch/script_transport.hpp"
#include "test/unit/plugin/captured_log.hpp"

namespace sluice::test {

struct ReflectorWorld {
  // `streaming`: use streaming lists.
  explicit ReflectorWorld(kube::Resource resource = kube::services_resource(), bool streaming = false)
      : support(streaming, clock),
        reflector(std::move(resource), {transport, events, clock, [this] { return random; }, failures, support}) {}

  static std::string object(const std::string& name, const std::string& version, const std::string& spec = "") {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"demo","resourceVersion":")" + version +
           R"("},"spec":{)" + spec + "}}";
  }
  static std::string list(const std::string& version, const std::string& items, const std::string& token = "") {
    return R"({"kind":"ServiceList","metadata":{"resourceVersion":")" + version + R"(","continue":")" + token +
           R"("},"items":[)" + items + "]}";
  }
  static std::string event(const std::string& type, const std::string& object) {
    return R"({"type":")" + type + R"(","object":)" + object + "}\n";
  }
  static std::string bookmark(const std::string& version) {
    return event("BOOKMARK", R"({"kind":"Service","metadata":{"resourceVersion":")" + version + "\"}}");
  }
  static std::string initial_events_end(const std::string& version) {
    return event("BOOKMARK", R"({"kind":"Service","metadata":{"resourceVersion":")" + version +
                                 R"(","annotations":{"k8s.io/initial-events-end":"true"}}})");
  }
  static std::string status(int code, const std::string& reason, const std::string& message = "m",
                            const std::string& details = "{}") {
    return R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"reason":")" + reason + R"(","message":")" +
           message + R"(","details":)" + details + "}";
  }

  // Lists demo/a at version 10; the next step watches.
  void list_once() {
    transport.expect_list(list("10", object("a", "9")));
    reflector.step();
    events.take();
  }

  // Responds to the next request with this body, which takes `lasts`, and does a step.
  long answer(const std::string& body, std::chrono::milliseconds lasts = std::chrono::seconds(300),
              lib::Status end = {}) {
    transport.expect({.status = 200, .body = body, .end = std::move(end), .lasts = lasts});
    return step();
  }
  long refuse(int code, const std::string& body = "") {
    transport.expect({.status = code, .body = body});
    return step();
  }
  // Log lines except those of level debug.
  std::vector<std::string> logged() const {
    std::vector<std::string> out;
    for (const auto& line : log.lines()) {
      if (!line.starts_with("DEBUG")) out.push_back(line);
    }
    return out;
  }

  long step() { return static_cast<long>(reflector.step().count()); }
  bool asked(const std::string& part) const { return transport.last_asked().find(part) != std::string::npos; }

  FakeClock clock;
  ScriptTransport transport{clock};
  EventRecorder events;
  double random = 0;
  CapturedLog log;
  kube::FailureLog failures;
  kube::StreamingSupport support;
  kube::Reflector reflector;
};

}  // namespace sluice::test

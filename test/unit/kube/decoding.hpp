// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Helpers to decode objects in assertions.
#pragma once

#include <cppunit/TestAssert.h>

#include <string>
#include <string_view>

#include "core/kube/decode/decode.hpp"

namespace sluice::test {

// A Service whose spec has the members `spec`.
inline std::string service_json(const std::string& spec, const std::string& status = "{}") {
  return R"({"metadata":{"name":"web","namespace":"demo","resourceVersion":"7"},"spec":{)" + spec + R"(},"status":)" +
         status + "}";
}

// The result as text: "ok", "ignored: …", "kind: …", "path: problem".
inline std::string outcome(const kube::Decoded& decoded) {
  if (const auto* failed = std::get_if<kube::Failed>(&decoded.result)) return failed->to_string();
  if (const auto* ignored = std::get_if<kube::Ignored>(&decoded.result)) return "ignored: " + ignored->reason;
  if (const auto* wrong = std::get_if<kube::WrongKind>(&decoded.result)) return "kind: " + wrong->kind;
  return "ok";
}

inline kube::Decoded decode(model::ResourceKind kind, std::string_view json, bool defaults = false) {
  return kube::Decoder({.apply_server_defaults = defaults}).object(kind, json);
}

template <class T>
T decoded(model::ResourceKind kind, std::string_view json, bool defaults = false) {
  auto result = decode(kind, json, defaults);
  CPPUNIT_ASSERT_EQUAL(std::string("ok"), outcome(result));
  return std::get<T>(std::get<kube::Object>(std::move(result.result)));
}

inline model::Service decode_service(const std::string& spec, const std::string& status = "{}") {
  return decoded<model::Service>(model::ResourceKind::service, service_json(spec, status));
}

// The error of a Service with this spec.
inline std::string service_problem(const std::string& spec, const std::string& status = "{}") {
  return outcome(decode(model::ResourceKind::service, service_json(spec, status)));
}

}  // namespace sluice::test

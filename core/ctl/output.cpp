// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/output.hpp"

#include <yaml-cpp/yaml.h>

namespace sluice::ctl {
namespace {

using nlohmann::json;

std::string dump(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

// Strings are quoted, so that none is parsed as a number or a boolean.
void emit(YAML::Emitter& out, const json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [name, inner] : value.items()) {
      out << YAML::Key << name << YAML::Value;
      emit(out, inner);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& inner : value) emit(out, inner);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    out << YAML::DoubleQuoted << value.get_ref<const std::string&>();
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << dump(value, -1);
  }
}

}  // namespace

std::string render(const json& reply, Output output) {
  if (output == Output::json) return dump(reply, 2) + "\n";
  YAML::Emitter out;
  // Through text, so that bytes that are not UTF-8 are replaced as in JSON.
  emit(out, json::parse(dump(reply, -1)));
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace sluice::ctl

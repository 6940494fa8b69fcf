// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/fields.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace sluice::ctl {

using nlohmann::json;

const json& member(const json& object, std::string_view key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string sanitized(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string text(const json& value) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) return sanitized(value.get<std::string>());
  if (value.is_number() || value.is_boolean()) return value.dump();
  return "-";
}

std::string text(const json& object, std::string_view key) { return text(member(object, key)); }

std::string duration(const json& seconds) {
  if (!seconds.is_number()) return "-";
  const double value = seconds.get<double>();
  char out[32];
  if (value < 0.001)
    std::snprintf(out, sizeof out, "%.0f us", value * 1e6);
  else if (value < 1)
    std::snprintf(out, sizeof out, "%.1f ms", value * 1e3);
  else
    std::snprintf(out, sizeof out, "%.2f s", value);
  return out;
}

}  // namespace sluice::ctl

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/fields.hpp"

#include <algorithm>
#include <utility>

namespace sluice::ctl {

using nlohmann::json;

const json& member(const json& object, std::string_view key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string harmless(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string text(const json& value) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) return harmless(value.get<std::string>());
  if (value.is_number() || value.is_boolean()) return value.dump();
  return "-";
}

std::string text(const json& object, std::string_view key) { return text(member(object, key)); }

}  // namespace sluice::ctl

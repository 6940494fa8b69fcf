// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/decode/json_field.hpp"

#include <utility>

namespace sluice::kube {

JsonField JsonField::get(std::string_view key) const& {
  simdjson::dom::object object;
  if (!open_object(object)) return JsonField(*this, std::nullopt, key);
  std::optional<simdjson::dom::element> found;
  for (const auto& [name, value] : object) {
    if (name == key) found = value;
  }
  return JsonField(*this, found, key);
}

bool JsonField::open_object(simdjson::dom::object& out) const {
  if (!value_) return false;
  if (value_->get(out) == simdjson::SUCCESS) return true;
  fail("is " + type_name() + ", not an object");
  return false;
}

bool JsonField::open_array(simdjson::dom::array& out) const {
  if (!value_) return false;
  if (value_->get(out) == simdjson::SUCCESS) return true;
  fail("is " + type_name() + ", not a list");
  return false;
}

std::string_view JsonField::text() const {
  if (!value_) return {};
  std::string_view out;
  if (value_->get(out) != simdjson::SUCCESS) fail("is " + type_name() + ", not a text");
  return out;
}

bool JsonField::boolean(bool if_absent) const {
  if (!value_) return if_absent;
  bool out = if_absent;
  if (value_->get(out) != simdjson::SUCCESS) fail("is " + type_name() + ", not true or false");
  return out;
}

std::optional<std::int64_t> JsonField::integer() const {
  if (!value_) return std::nullopt;
  std::int64_t out = 0;
  const auto code = value_->get(out);
  if (code == simdjson::SUCCESS) return out;
  if (code == simdjson::NUMBER_OUT_OF_RANGE) {
    fail("the number is too large");
  } else {
    fail("is " + type_name() + ", not a whole number");
  }
  return std::nullopt;
}

std::uint16_t JsonField::port(bool zero_is_absent) const {
  const auto number = integer();
  if (!number || (*number == 0 && zero_is_absent)) return 0;
  if (*number < 1 || *number > 65535) {
    fail(std::to_string(*number) + " is not a port (1-65535)");
    return 0;
  }
  return static_cast<std::uint16_t>(*number);
}

std::string JsonField::path() const {
  if (parent_ == nullptr) return {};
  std::string out = parent_->path();
  if (index_) return out + "[" + std::to_string(*index_) + "]";
  // A key that contains dots (labels, annotations) must not read like a path.
  if (key_.find('.') != std::string_view::npos) return out + "[" + std::string(key_) + "]";
  if (!out.empty()) out += '.';
  return out.append(key_);
}

void JsonField::fail(std::string problem) const {
  if (failed()) return;
  error_->path = path();
  error_->problem = std::move(problem);
}

std::string JsonField::type_name() const {
  switch (value_->type()) {
    case simdjson::dom::element_type::ARRAY:
      return "a list";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
    case simdjson::dom::element_type::DOUBLE:
      return "a number";
    case simdjson::dom::element_type::STRING:
      return "a text";
    case simdjson::dom::element_type::BOOL:
      return "true or false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
  }
  return "of another type";
}

}  // namespace sluice::kube

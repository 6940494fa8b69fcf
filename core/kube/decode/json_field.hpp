// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One value of a JSON document with its path, so that errors name the field:
// "spec.ports[0].port: 0 is not a port (1-65535)".
//
// Errors are sticky: the first one is kept, and everything after it reads as absent. Like in Kubernetes, null reads as
// absent, and the last of duplicate keys counts. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::kube {

struct FieldError {
  std::string path;     // empty if the text is not JSON
  std::string problem;  // empty = no error
  std::string to_string() const { return path.empty() ? problem : path + ": " + problem; }
};

class JsonField {
 public:
  // `error` receives the first error. It and the document must outlive the field.
  JsonField(simdjson::dom::element root, FieldError& error) : error_(&error), value_(root) {}

  bool present() const { return value_.has_value(); }
  simdjson::dom::element value() const { return *value_; }  // REQUIRES: present()

  // The member `key`; absent if this field is absent. A child refers to its parent and `key`, which must outlive it; so
  // the parent must be a named variable.
  JsonField get(std::string_view key) const&;
  JsonField get(std::string_view key) && = delete;

  // Calls visit(element) for each element of a list; an absent list is empty.
  template <class Visit>
  void each(Visit&& visit) const {
    simdjson::dom::array array;
    if (!open_array(array)) return;
    std::size_t index = 0;
    for (const simdjson::dom::element element : array) visit(JsonField(*this, element, index++));
  }

  // Calls visit(key, value) for each member of an object, duplicate keys included; an absent object is empty.
  template <class Visit>
  void each_member(Visit&& visit) const {
    simdjson::dom::object object;
    if (!open_object(object)) return;
    for (const auto& [key, value] : object) visit(key, JsonField(*this, std::optional(value), key));
  }

  std::string_view text() const;  // empty when absent
  bool is_text() const { return value_ && value_->is_string(); }
  bool boolean(bool if_absent) const;
  std::optional<std::int64_t> integer() const;
  // A number from 1 to 65535, or 0 if absent. With `zero_is_absent`, 0 is not an error.
  std::uint16_t port(bool zero_is_absent) const;

  std::string path() const;
  void fail(std::string problem) const;
  bool failed() const { return !error_->problem.empty(); }

 private:
  JsonField(const JsonField& parent, std::optional<simdjson::dom::element> value, std::string_view key)
      : error_(parent.error_), parent_(&parent), key_(key) {
    set(value);
  }
  JsonField(const JsonField& parent, simdjson::dom::element value, std::size_t index)
      : error_(parent.error_), parent_(&parent), index_(index) {
    set(value);
  }
  void set(std::optional<simdjson::dom::element> value) {
    if (value && !value->is_null()) value_ = value;
  }
  bool open_array(simdjson::dom::array& out) const;
  bool open_object(simdjson::dom::object& out) const;
  std::string type_name() const;

  FieldError* error_;
  const JsonField* parent_ = nullptr;
  std::string_view key_;
  std::optional<std::size_t> index_;
  std::optional<simdjson::dom::element> value_;
};

}  // namespace sluice::kube

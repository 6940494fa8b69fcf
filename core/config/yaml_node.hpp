// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A value of the configuration file with its place. A value of a wrong type or format becomes a problem with file,
// line, field and the allowed values. Only these files, file.cpp, documents.cpp and render.cpp use yaml-cpp.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/config/draft.hpp"
#include "core/config/problems.hpp"

namespace sluice::config {

struct ConfigMember;

class ConfigNode {
 public:
  // `file` and `problems` must outlive the node. An empty `field` is the document itself.
  ConfigNode(YAML::Node node, std::string field, const std::string& file, Problems& problems);

  const YAML::Node& yaml() const { return node_; }
  const std::string& field() const { return field_; }
  std::string where() const;  // "file:line: field"
  std::string where_below(int line, const std::string& field) const;  // the same of a field of this map
  bool is_null() const { return node_.IsNull(); }

  // The fields of this map in the order of the file, including repeated ones. If this is not a map: empty, with an
  // error. Null is an empty map.
  std::vector<ConfigMember> members() const;

  // Null returns nothing; a value of another type or format returns nothing and adds an error.
  std::optional<std::string> text() const;
  std::optional<bool> boolean() const;
  std::optional<int> number() const;
  std::optional<double> decimal() const;
  std::optional<Duration> duration() const;
  // A plain integer is in nanoseconds.
  std::optional<Duration> duration_or_nanoseconds() const;
  // The elements of a list, each with its place. Null is an empty list.
  std::vector<ConfigNode> elements() const;
  // Each with its place. Null is an empty list.
  std::vector<Sourced<std::string>> texts() const;

  void error(std::string text) const { problems_->error(where(), std::move(text)); }
  void warning(std::string text) const { problems_->warning(where(), std::move(text)); }

 private:
  std::optional<std::string> scalar(std::string_view expected, std::string_view allowed) const;
  bool quoted() const { return node_.Tag() == "!"; }
  ConfigNode child(const YAML::Node& node, std::string field, int line) const;

  YAML::Node node_;
  std::string field_;
  int line_ = 0;
  const std::string* file_;
  Problems* problems_;
};

// A field of a map; its line is that of the key, since an empty value has none.
struct ConfigMember {
  std::string name;
  ConfigNode node;
};

}  // namespace sluice::config

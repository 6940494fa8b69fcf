// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One value of a kubeconfig and its field path. Typed readers throw an error with file, field, reason and remedy.
// Internal to kubeconfig*.cpp.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::kube {

// Thrown on the first error; caught in kubeconfig_reader.cpp.
struct KubeconfigWrong {
  std::string sentence;
};

class KubeconfigNode {
 public:
  // `file` must outlive the node. An empty `field` is the document itself.
  KubeconfigNode(const std::string& file, std::string field, YAML::Node node)
      : file_(&file), field_(std::move(field)), node_(std::move(node)) {}

  const std::string& field() const { return field_; }
  bool present() const { return node_.IsDefined() && !node_.IsNull(); }
  bool is_list() const { return present() && node_.IsSequence(); }
  bool is_map() const { return present() && node_.IsMap(); }
  KubeconfigNode get(const std::string& key) const;

  // An absent value reads as empty. A wrong type throws.
  std::string text() const;
  bool flag() const;
  std::vector<KubeconfigNode> list() const;
  std::vector<std::string> texts() const;
  std::vector<std::pair<std::string, KubeconfigNode>> map() const;
  // The member `key` of the entry called `name` in this list of {name: …, key: {…}};
  // `referrer` is the field that named it.
  KubeconfigNode entry(const std::string& name, const std::string& key, const std::string& referrer) const;
  // Whether this list has an entry called `name`; an entry without a name is called "".
  bool has_entry(const std::string& name) const;

  [[noreturn]] void wrong(const std::string& problem, const std::string& remedy) const;

 private:
  const std::string* file_;
  std::string field_;
  YAML::Node node_;
};

}  // namespace sluice::kube

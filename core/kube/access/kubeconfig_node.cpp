// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/kubeconfig_node.hpp"

#include <optional>

namespace sluice::kube {

KubeconfigNode KubeconfigNode::get(const std::string& key) const {
  std::string field = field_.empty() ? key : field_ + "." + key;
  // operator[] of a non-const node would add a missing key.
  const YAML::Node& self = node_;
  return {*file_, std::move(field), is_map() ? self[key] : YAML::Node(YAML::NodeType::Undefined)};
}

std::string KubeconfigNode::text() const {
  if (!present()) return {};
  if (!node_.IsScalar()) wrong("is not a text", "write a single value");
  return node_.Scalar();
}

bool KubeconfigNode::flag() const {
  const std::string value = text();
  if (value.empty() || value == "false") return false;
  if (value != "true") wrong("is neither true nor false", "write one of them");
  return true;
}

std::vector<KubeconfigNode> KubeconfigNode::list() const {
  std::vector<KubeconfigNode> out;
  if (!present()) return out;
  if (!node_.IsSequence()) wrong("is not a list", "correct the file");
  for (std::size_t i = 0; i < node_.size(); ++i) {
    out.emplace_back(*file_, field_ + "[" + std::to_string(i) + "]", node_[i]);
  }
  return out;
}

std::vector<std::string> KubeconfigNode::texts() const {
  std::vector<std::string> out;
  for (const auto& element : list()) out.push_back(element.text());
  return out;
}

std::vector<std::pair<std::string, KubeconfigNode>> KubeconfigNode::map() const {
  std::vector<std::pair<std::string, KubeconfigNode>> out;
  if (!present()) return out;
  if (!node_.IsMap()) wrong("is not a map", "correct the file");
  for (const auto& member : node_) {
    if (!member.first.IsScalar()) wrong("has a key that is not a text", "correct the file");
    const std::string& key = member.first.Scalar();
    out.emplace_back(key, KubeconfigNode(*file_, field_ + "." + key, member.second));
  }
  return out;
}

KubeconfigNode KubeconfigNode::entry(const std::string& name, const std::string& key,
                                     const std::string& referrer) const {
  std::optional<KubeconfigNode> found;
  for (const auto& candidate : list()) {
    if (!candidate.is_map()) candidate.wrong("is not an entry with a name", "correct the file");
    if (candidate.get("name").text() != name) continue;
    if (found) wrong("has two entries called \"" + name + "\"", "remove one");
    found.emplace(*file_, field_ + "[" + name + "]." + key, candidate.get(key).node_);
  }
  if (!found) {
    KubeconfigNode(*file_, referrer, YAML::Node())
        .wrong("names \"" + name + "\", which " + field_ + " does not have", "correct one of the two");
  }
  if (!found->present()) return {*file_, found->field_, YAML::Node(YAML::NodeType::Map)};
  if (!found->is_map()) found->wrong("is not a map", "correct the file");
  return *found;
}

bool KubeconfigNode::has_entry(const std::string& name) const {
  for (const auto& candidate : list()) {
    if (candidate.is_map() && candidate.get("name").text() == name) return true;
  }
  return false;
}

void KubeconfigNode::wrong(const std::string& problem, const std::string& remedy) const {
  throw KubeconfigWrong{*file_ + ": " + (field_.empty() ? "the file" : field_) + " " + problem + "; " + remedy};
}

}  // namespace sluice::kube

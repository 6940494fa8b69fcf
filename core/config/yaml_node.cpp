// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/yaml_node.hpp"

#include "core/config/values.hpp"
#include "lib/duration.hpp"

namespace sluice::config {
namespace {

std::string type_name(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a map";
    case YAML::NodeType::Scalar:
      return "'" + node.Scalar() + "'";
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return "empty";
}

}  // namespace

ConfigNode::ConfigNode(YAML::Node node, std::string field, const std::string& file, Problems& problems)
    : node_(std::move(node)),
      field_(std::move(field)),
      line_(node_.Mark().line + 1),
      file_(&file),
      problems_(&problems) {}

ConfigNode ConfigNode::child(const YAML::Node& node, std::string field, int line) const {
  ConfigNode out(node, std::move(field), *file_, *problems_);
  out.line_ = line;
  return out;
}

std::string ConfigNode::where() const {
  const std::string place = *file_ + ":" + std::to_string(line_);
  return field_.empty() ? place : place + ": " + field_;
}

std::string ConfigNode::where_below(int line, const std::string& field) const {
  return *file_ + ":" + std::to_string(line) + ": " + field_ + "." + field;
}

std::vector<ConfigMember> ConfigNode::members() const {
  std::vector<ConfigMember> out;
  if (node_.IsNull()) return out;
  if (!node_.IsMap()) {
    error("is " + type_name(node_) + ", not a map; allowed: fields below it");
    return out;
  }
  for (const auto& entry : node_) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : type_name(entry.first);
    const std::string field = field_.empty() ? name : field_ + "." + name;
    out.push_back({name, child(entry.second, field, entry.first.Mark().line + 1)});
  }
  return out;
}

std::optional<std::string> ConfigNode::scalar(std::string_view expected, std::string_view allowed) const {
  if (node_.IsNull()) return std::nullopt;
  if (node_.IsScalar()) return node_.Scalar();
  error("is " + type_name(node_) + ", not " + std::string(expected) + "; " + std::string(allowed));
  return std::nullopt;
}

std::optional<std::string> ConfigNode::text() const { return scalar("a string", "allowed: one string"); }

std::optional<bool> ConfigNode::boolean() const {
  const auto value = scalar("a boolean", kBooleanAllowed);
  if (!value) return std::nullopt;
  bool out = false;
  if (!quoted() && YAML::convert<bool>::decode(node_, out)) return out;
  error("'" + *value + "' is not a boolean; " + std::string(kBooleanAllowed) + ", without quotes");
  return std::nullopt;
}

std::optional<int> ConfigNode::number() const {
  const auto value = scalar("a number", "allowed: one whole number");
  if (!value) return std::nullopt;
  if (const auto out = parse_number(*value); out && !quoted()) return *out;
  error("'" + *value + "' is not a number; allowed: a whole number without quotes, such as 14");
  return std::nullopt;
}

std::optional<double> ConfigNode::decimal() const {
  const auto value = scalar("a number", "allowed: one number");
  if (!value) return std::nullopt;
  if (const auto out = parse_decimal(*value); out && !quoted()) return *out;
  error("'" + *value + "' is not a number; allowed: a number without quotes, such as 5 or 0.5");
  return std::nullopt;
}

std::optional<Duration> ConfigNode::duration() const {
  const auto value = scalar("a duration", kDurationAllowed);
  if (!value) return std::nullopt;
  if (const auto out = lib::parse_duration(*value)) return *out;
  error("'" + *value + "' is not a duration; " + std::string(kDurationAllowed));
  return std::nullopt;
}

std::optional<Duration> ConfigNode::duration_or_nanoseconds() const {
  std::int64_t count = 0;
  if (node_.IsScalar() && !quoted() && YAML::convert<std::int64_t>::decode(node_, count)) return Duration(count);
  return duration();
}

std::vector<ConfigNode> ConfigNode::elements() const {
  std::vector<ConfigNode> out;
  if (node_.IsNull()) return out;
  if (!node_.IsSequence()) {
    error("is " + type_name(node_) + ", not a list; allowed: a list, such as [a, b]");
    return out;
  }
  for (std::size_t i = 0; i < node_.size(); ++i) {
    out.push_back(child(node_[i], field_ + "[" + std::to_string(i) + "]", node_[i].Mark().line + 1));
  }
  return out;
}

std::vector<Sourced<std::string>> ConfigNode::texts() const {
  std::vector<Sourced<std::string>> out;
  if (node_.IsNull()) return out;
  if (!node_.IsSequence()) {
    error("is " + type_name(node_) + ", not a list; allowed: a list of strings, such as [a, b]");
    return out;
  }
  for (const ConfigNode& element : elements()) {
    if (const auto value = element.text()) {
      out.push_back({*value, element.where()});
    } else if (element.is_null()) {
      element.error("is empty; allowed: a string");
    }
  }
  return out;
}

}  // namespace sluice::config

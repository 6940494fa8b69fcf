// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Namespace and name: the identity of a Kubernetes object of a known kind.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <unordered_set>

#include "core/base/symbol.hpp"

namespace sluice::model {

struct ObjectName {
  base::Symbol name_space;  // empty for cluster-wide objects
  std::string name;

  std::string to_string() const {
    return name_space.empty() ? name : std::string(name_space.text()) + "/" + name;
  }
  bool operator==(const ObjectName&) const = default;
  // By text, not by symbol number, so that the order is the same in every run.
  std::strong_ordering operator<=>(const ObjectName& other) const {
    return name_space == other.name_space ? name <=> other.name : name_space.text() <=> other.name_space.text();
  }
};

using Namespaces = std::unordered_set<base::Symbol>;

}  // namespace sluice::model

template <>
struct std::hash<sluice::model::ObjectName> {
  std::size_t operator()(const sluice::model::ObjectName& n) const noexcept {
    return std::hash<std::string>()(n.name) * 31 + n.name_space.id();
  }
};

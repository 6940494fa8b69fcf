// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A Kubernetes Event about a Node or a Service, shown by kubectl describe.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace sluice::kube {

// The object an event is about.
struct Regarding {
  std::string kind;
  std::string name_space;  // empty for a Node
  std::string name;

  static Regarding node(std::string name) { return {"Node", "", std::move(name)}; }
  static Regarding service(std::string name_space, std::string name) {
    return {"Service", std::move(name_space), std::move(name)};
  }
  auto operator<=>(const Regarding&) const = default;
};

struct ClusterEvent {
  enum class Type : std::uint8_t { normal, warning };
  Type type = Type::normal;
  std::string reason;  // "Starting": a machine-readable word in CamelCase
  std::string action;  // "StartKubeProxy": the action that caused the event
  std::string note;    // a sentence for the operator
  Regarding regarding;
  auto operator<=>(const ClusterEvent&) const = default;
};

}  // namespace sluice::kube

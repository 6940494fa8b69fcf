// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A copy of an abi::InspectedFrontend that owns its memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/abi/inspection.hpp"

namespace sluice::plugin {

// abi::InspectedTarget, with the address as text.
struct InspectedTarget {
  std::string address;  // "10.180.0.1"; empty if unknown
  std::uint16_t port = 0;
  std::uint16_t flags = 0;
  std::string object;
  std::string remarks;
};

struct InspectedTargets {
  std::vector<InspectedTarget> targets;
  std::string instead;
  std::string remarks;
};

struct InspectedFrontend {
  std::string name_space;
  std::string service;
  std::string port_name;
  std::string protocol;  // "tcp"
  std::string address;   // empty for a node port
  std::uint16_t port = 0;
  std::uint32_t flags = 0;             // abi::InspectedFlag
  std::vector<std::string> addresses;  // of a node port: "192.0.2.7", "127.0.0.0/8"
  std::uint32_t affinity_seconds = 0;
  InspectedTargets targets;
  InspectedTargets node_targets;
  std::string otherwise;
  std::vector<std::string> source_ranges;
  std::string ranges_instead;
  std::string ranges_remarks;
  std::string object;
  std::string remarks;

  bool has(abi::InspectedFlag flag) const { return (flags & flag) != 0; }
};

// All texts are on one line.
InspectedTarget copy(const abi::InspectedTarget& from, abi::Family family);
InspectedFrontend copy(const abi::InspectedFrontend& row, abi::Family family);

}  // namespace sluice::plugin

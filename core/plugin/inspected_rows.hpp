// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Copies of the rows of abi::InspectionRows about counters, drift and steps, which own their memory.
// inspected_frontend.hpp has frontends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plugin/inspected_frontend.hpp"
#include "sluice/abi/inspection.hpp"

namespace sluice::plugin {

// The names of an abi::ServicePortKey.
struct InspectedKey {
  std::string name_space{};
  std::string service{};
  std::string port_name{};
  std::string protocol{};  // "tcp"; empty without names
};

struct InspectedCounters {
  InspectedKey key{};
  std::string address{};  // of the frontend; empty for a node port, and for all frontends
  std::uint16_t port = 0;
  std::string target{};  // address of the endpoint; empty: all endpoints
  std::uint16_t target_port = 0;
  std::uint32_t flags = 0;  // abi::InspectedCountersFlag
  std::uint64_t connections = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reply_packets = 0;
  std::uint64_t reply_bytes = 0;
  std::uint64_t active_connections = 0;
  std::uint64_t refused = 0;
};

struct InspectedDrift {
  InspectedKey key{};  // empty names: no single service port needs it
  abi::DriftKind kind{};
  std::uint32_t count = 0;
  std::string object{};
  std::string wanted{};
  std::string found{};
};

struct InspectedStep {
  std::string object{};
  std::string effect{};
  std::string remarks{};
  std::vector<InspectedTarget> targets{};
  abi::InspectedVerdict verdict{};
  std::uint32_t flags = 0;  // abi::InspectedStepFlag
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// All texts are on one line. Unknown kinds and verdicts are replaced as abi documents it.
InspectedCounters copy(const abi::InspectedCounters& row, abi::Family family);
InspectedDrift copy(const abi::InspectedDrift& row, abi::Family family);
InspectedStep copy(const abi::InspectedStep& row, abi::Family family);

}  // namespace sluice::plugin

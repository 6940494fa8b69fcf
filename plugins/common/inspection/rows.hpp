// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Collects what backends answer to abi::InspectionRows about counters, drift and explanations. Pure; one thread per
// object. service_line.hpp does the same for frontends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/common/inspection/service_line.hpp"
#include "sluice/abi/inspection.hpp"

namespace sluice::inspection {

// Whether `service_port`, "shop/cart:http", belongs to `name`: a service port, a Service, or empty for all.
bool belongs_to(std::string_view service_port, std::string_view name) noexcept;

class CounterRows {
 public:
  // `name`: of the query.
  explicit CounterRows(std::string_view name) : name_(name) {}

  bool wants(std::string_view service_port) const noexcept { return belongs_to(service_port, name_); }
  // `row`: all but the names of the key. Rows of one service port keep their order.
  void add(std::string service_port, const abi::InspectedCounters& row);

  void deliver(abi::InspectionSink& sink);

 private:
  struct Row {
    std::string service_port;
    abi::InspectedCounters counters;
  };
  const std::string name_;
  std::vector<Row> rows_;
};

class DriftRows {
 public:
  // More objects are counted by kind, in one row each.
  static constexpr std::size_t kMost = 1000;

  struct Row {
    abi::DriftKind kind{};
    std::string object{};
    std::string service_port{};  // printed name; empty: no single service port needs it
    abi::Protocol protocol{};    // with a service port
    std::string wanted{};
    std::string found{};
    std::uint32_t count = 1;
  };

  // `name`: of the query.
  explicit DriftRows(std::string_view name) : name_(name) {}

  // Whether rows of this service port belong to the answer. Empty: rows that belong to no service port.
  bool wants(std::string_view service_port) const noexcept { return belongs_to(service_port, name_); }
  void add(Row row);

  void deliver(abi::InspectionSink& sink);

 private:
  const std::string name_;
  std::vector<Row> rows_;
  std::uint32_t more_[5] = {};  // by kind
};

// abi::InspectedPacket.
struct Packet {
  abi::Family family{};
  abi::Address client{};
  abi::Address address{};  // the destination
  std::uint16_t port = 0;
  abi::Protocol protocol{};
  bool of_node = false;  // sent by a process of this node that is in no pod
  bool of_pod = false;   // sent by a pod of this node
};

// The steps of a packet, in order.
class Explanation {
 public:
  struct Step {
    std::string object{};
    std::string effect{};
    Remarks remarks{};
    std::vector<Target> targets{};
    abi::InspectedVerdict verdict = abi::InspectedVerdict::kContinues;
    bool masquerades = false;
    bool counted = false;  // the next two are known
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };

  explicit Explanation(const Packet& packet) : packet_(packet) {}

  const Packet& packet() const noexcept { return packet_; }
  // The last step, and no other, must have a verdict.
  void add(Step step) { steps_.push_back(std::move(step)); }

  void deliver(abi::InspectionSink& sink);

 private:
  const Packet packet_;
  std::vector<Step> steps_;
};

}  // namespace sluice::inspection

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What backends answer to sluice::abi::Inspection and InspectionRows. Pure; one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi/backend.hpp"
#include "sluice/abi/inspection.hpp"

namespace sluice::inspection {

// Throws sdk::Failure (kRetry), because no apply() has succeeded yet.
[[noreturn]] void refuse_before_first_apply();

// The destination of client traffic: address, port and protocol, or a node port.
struct Place {
  bool node_port = false;
  abi::Address address{};  // of a node port: zero
  std::uint16_t port = 0;
  abi::Protocol protocol{};
  // Addresses first, then node ports.
  bool operator<(const Place& other) const noexcept;
};
// "172.30.0.41:80/tcp", "[fd00::1]:80/udp", ":30080/tcp".
std::string to_string(const Place& place, abi::Family family);

// About the kernel state, each once.
using Remarks = std::vector<std::string>;
void add(Remarks& to, std::string remark);

// "10.0.0.0/8, 192.0.2.0/24", in the given order.
std::string ranges_text(const std::vector<abi::Prefix>& ranges, abi::Family family);

// The configured source ranges of a load balancer. If one of them contains the node, backends also allow the addresses
// of the load balancer, `balancer`, because processes of the node may use them as source. Returns `sources` without
// these addresses.
std::vector<abi::Prefix> without_own_addresses(std::vector<abi::Prefix> sources, std::vector<abi::Address> balancer,
                                               const abi::Address& node_ip, abi::Family family);

// abi::InspectedTarget. With an object, the address is unknown.
struct Target {
  abi::Address address{};
  std::uint16_t port = 0;
  std::string object{};
  Remarks remarks{};
  bool draining = false;
};
// Refers to `from` and `texts`, to which it adds.
abi::InspectedTarget flat_target(const Target& from, std::deque<std::string>& texts);

// abi::InspectedTargets.
struct Targets {
  std::vector<Target> list{};
  std::string instead{};
  Remarks remarks{};
  bool empty() const noexcept { return list.empty() && instead.empty(); }
};
inline constexpr std::string_view kNowhere = "nowhere";
Targets nowhere(Remarks why);

// The addresses of a node port.
struct NodePortAddresses {
  bool every = false;
  std::vector<abi::Prefix> only{};
  void add(const abi::Address& address, abi::Family family);
};

// What happens to packets that reach no target.
struct Otherwise {
  std::uint32_t flag = 0;  // kInspectedRejected or kInspectedDropped, if it is one of them
  std::string text{};      // empty: nothing is known
  Remarks remarks{};
};
Otherwise rejected(Remarks remarks = {});  // "rejected, no endpoints"
Otherwise dropped(Remarks remarks = {});   // "dropped, no endpoints on this node"

struct SourceRanges {
  bool restricted = false;
  std::vector<abi::Prefix> ranges{};
  std::string instead{};  // without ranges
  Remarks remarks{};
};

// abi::InspectedFrontend: one frontend, or with `object` another object that no service port needs.
struct ServiceLine {
  std::string service_port{};  // printed name; empty: no service port needs it
  Place place{};
  NodePortAddresses addresses{};
  std::uint32_t sticky_seconds = 0;
  bool masqueraded = false;
  Targets targets{};
  Targets from_node{};
  Otherwise otherwise{};
  SourceRanges only_for{};
  Remarks remarks{};
  std::string object{};
};

// The ABI's form of a line.
class Row {
 public:
  Row(const ServiceLine& line, abi::Family family);  // refers to `line`
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  const abi::InspectedFrontend& get() const noexcept { return row_; }
  std::string text() const;  // as abi::Inspection prints it

 private:
  abi::InspectedTargets flat(const Targets& from, std::vector<abi::InspectedTarget>& to);
  abi::StringView joined(const Remarks& remarks);

  const abi::Family family_;
  abi::InspectedFrontend row_{};
  std::vector<abi::InspectedTarget> targets_;
  std::vector<abi::InspectedTarget> node_targets_;
  std::deque<std::string> texts_;
};

// Collects the lines of one call and delivers them in order: lines by name, then objects that no Service port needs.
class Answer {
 public:
  // At most this many objects that no Service port needs are in the answer; the remaining ones are counted.
  static constexpr std::size_t kMostNotWanted = 1000;

  // `name`: "shop/cart" or "shop/cart:http"; empty: everything.
  Answer(std::string_view name, abi::Family family) : name_(name), family_(family) {}

  bool is_complete() const noexcept { return name_.empty(); }
  // Whether lines of this service port belong to the answer. Empty name: lines of objects that no Service port needs.
  bool wants(std::string_view service_port) const noexcept;

  // Lines of one service port keep their order.
  void add(ServiceLine line);
  void add_not_wanted(std::string object);

  void deliver(abi::StringSink& sink);
  void deliver(abi::InspectionSink& sink);

 private:
  void add_not_wanted(ServiceLine line);
  void each_row(const std::function<bool(const Row&)>& visit);  // false: enough

  std::string name_;
  abi::Family family_;
  std::vector<ServiceLine> lines_;
  std::vector<ServiceLine> not_wanted_;
  std::size_t more_ = 0;
};

}  // namespace sluice::inspection

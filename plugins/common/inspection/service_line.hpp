// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Formats the lines of sluice::abi::Inspection for all backends. Pure; one thread per object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/abi/backend.hpp"

namespace sluice::inspection {

// The prefix of a line about an object that no Service port needs.
inline constexpr std::string_view kNotWanted = "not wanted by any Service: ";

// Reasons, as the core prints them.
inline constexpr std::string_view kRejected = "rejected, no endpoints";
inline constexpr std::string_view kDropped = "dropped, no endpoints on this node";

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

// The addresses of a node port: "192.0.2.7, 198.51.100.1" or "no address"; sorted as text.
std::string addresses_text(std::vector<std::string> addresses);
inline constexpr std::string_view kEveryAddress = "every address of this node";

// About the kernel state, each once.
using Remarks = std::vector<std::string>;
void add(Remarks& to, std::string remark);
// Appends remarks to a list: "a, b (first, second)".
std::string with_remarks(std::string list, const Remarks& remarks);
// "a, b", sorted as text.
std::string sorted_list(std::vector<std::string> items);
// "10.0.0.0/8, 192.0.2.0/24", in the given order.
std::string ranges_text(const std::vector<abi::Prefix>& ranges, abi::Family family);

// The configured source ranges of a load balancer. If one of them contains the node, backends also allow the addresses
// of the load balancer, `balancer`, because processes of the node may use them as source. Returns `sources` without
// these addresses.
std::vector<abi::Prefix> without_own_addresses(std::vector<abi::Prefix> sources, std::vector<abi::Address> balancer,
                                               const abi::Address& node_ip, abi::Family family);

// One frontend. The text is NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
// [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]. Empty parts are omitted; without `targets`
// it is NAME FRONTEND… from this node -> TARGETS, or NAME FRONTEND… -> REASON.
struct ServiceLine {
  std::string service_port;  // printed name; empty: no Service port needs the frontend
  std::string frontend;
  std::string addresses;  // of a node port
  std::uint32_t sticky_seconds = 0;
  bool masqueraded = false;
  std::string targets;
  std::string from_node;
  std::string otherwise;
  std::string only_for;
};
// Without the name.
std::string to_string(const ServiceLine& line);

// Collects the lines of one call and delivers them in order: lines by name, then objects that no Service port needs.
class Answer {
 public:
  // At most this many objects that no Service port needs are printed; the remaining ones are counted.
  static constexpr std::size_t kMostNotWanted = 1000;

  // `name`: "shop/cart" or "shop/cart:http"; empty: everything.
  explicit Answer(std::string_view name) : name_(name) {}

  bool is_complete() const noexcept { return name_.empty(); }
  // Whether lines of this service port belong to the answer. Empty name: lines of objects that no Service port needs.
  bool wants(std::string_view service_port) const noexcept;

  // Lines of one service port keep their order.
  void add(const ServiceLine& line);
  void add_not_wanted(std::string text);

  void deliver(abi::StringSink& sink);

 private:
  std::string name_;
  std::vector<std::pair<std::string, std::string>> lines_;
  std::vector<std::string> not_wanted_;
  std::size_t more_ = 0;
};

}  // namespace sluice::inspection

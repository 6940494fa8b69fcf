// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The lines of sluice::abi::Inspection, so that all backends print one form. Pure; one thread per object.
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

// What an answer begins with if no Service port wants the object.
inline constexpr std::string_view kNotWanted = "not wanted by any Service: ";

// Reasons, as the core prints them.
inline constexpr std::string_view kRejected = "rejected, no endpoints";
inline constexpr std::string_view kDropped = "dropped, no endpoints on this node";

// Throws sdk::Failure (kRetry): no apply() has succeeded yet, so there is nothing to compare the kernel with.
[[noreturn]] void refuse_before_first_apply();

// Where clients send to.
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

// The addresses that answer a node port: "192.0.2.7, 198.51.100.1" or "no address"; sorted as text.
std::string addresses_text(std::vector<std::string> addresses);
inline constexpr std::string_view kEveryAddress = "every address of this node";

// A list with what is wrong or special in the kernel: "a, b (first, second)".
std::string with_remarks(std::string list, const std::vector<std::string>& remarks);
// "a, b", sorted as text.
std::string sorted_list(std::vector<std::string> items);

// The source ranges of a load balancer. Backends append the addresses of the load balancer, `balancer`, to the sources
// of the ranges if one of them contains the node: a process of the node may have such an address as its source. Returns
// `sources` without them.
std::vector<abi::Prefix> without_own_addresses(std::vector<abi::Prefix> sources, std::vector<abi::Address> balancer,
                                               const abi::Address& node_ip, abi::Family family);

// One frontend. The text is NAME FRONTEND[ at ADDRESSES][ sticky for N s][ masqueraded] -> TARGETS
// [; from this node -> TARGETS][; else REASON][; only for PREFIX, PREFIX]. Empty parts are left out; without `targets`
// it is NAME FRONTEND… from this node -> TARGETS, or NAME FRONTEND… -> REASON.
struct ServiceLine {
  std::string service_port;  // printed name; empty: no Service port wants the frontend
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

// Collects the answer to one call and delivers it in order: lines by name, then what no Service port wants.
class Answer {
 public:
  // At most this many objects that no Service port wants are printed; the others are counted.
  static constexpr std::size_t kMostNotWanted = 1000;

  // `name`: "shop/cart" or "shop/cart:http"; empty: everything.
  explicit Answer(std::string_view name) : name_(name) {}

  bool is_complete() const noexcept { return name_.empty(); }
  // Whether a line of this service port belongs to the answer. Empty: whether one that no Service port wants does.
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

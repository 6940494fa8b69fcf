// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Service ports and nodes for the tests of this backend, in terms of Kubernetes. Sorts
// endpoints into the lists of the policies as the core does (without topology).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/transaction.hpp"

namespace sluice::test {

enum class Condition { kReady, kTerminating, kGone };  // kTerminating: still serving; kGone: not serving

struct EndpointSpec {
  std::string address;
  std::uint16_t port = 80;
  bool local = false;
  Condition condition = Condition::kReady;
};

struct ServiceSpec {
  std::string namespace_name = "ns1";
  std::string name = "svc1";
  std::string port_name = "p80";
  abi::Protocol protocol = abi::Protocol::kTcp;
  std::string cluster_ip = "172.30.0.41";
  std::uint16_t port = 80;
  std::uint16_t node_port = 0;
  std::vector<std::string> external_ips;
  std::vector<std::string> vips;
  std::vector<std::string> source_ranges;
  std::uint16_t health_check_node_port = 0;
  bool internal_local = false;
  bool external_local = false;
  std::uint32_t affinity_seconds = 0;
  std::vector<EndpointSpec> endpoints;
};

struct NodeSpec {
  std::uint32_t flags = abi::kNodePortsMatchAll | abi::kNodePortsOnLocalhost;
  std::string ip = "192.168.0.2";
  std::uint32_t mark = 1u << 14;
  abi::LocalDetectorKind detector = abi::LocalDetectorKind::kCidr;
  std::string detector_cidr = "10.0.0.0/8";
  std::string detector_interface;
  std::vector<std::string> node_port_addresses;
  std::uint64_t version = 1;
  std::vector<std::string> local_addresses;
  std::vector<std::string> service_cidrs;
};

// Owns the data that the ABI views point to.
class World {
 public:
  explicit World(abi::Family family = abi::Family::kIpv4) : family_(family) {}

  abi::ServicePort service(const ServiceSpec& spec);
  abi::ServicePortKey key(const ServiceSpec& spec);
  const abi::NodeFacts& node(const NodeSpec& spec = {});

  const abi::Transaction& full(const std::vector<ServiceSpec>& services, std::uint64_t generation,
                               const NodeSpec& node_spec = {});
  const abi::Transaction& delta(const std::vector<ServiceSpec>& changed, const std::vector<ServiceSpec>& removed,
                                std::uint64_t generation, const NodeSpec& node_spec = {});

 private:
  abi::StringView keep(const std::string& text);
  abi::Address address(const std::string& text) const;
  abi::Prefix prefix(const std::string& text) const;
  void sort_by_text(std::vector<abi::Endpoint>& endpoints) const;

  abi::Family family_;
  std::deque<std::string> texts_;
  std::deque<std::vector<abi::Frontend>> frontends_;
  std::deque<std::vector<abi::Prefix>> ranges_;
  std::deque<std::vector<abi::Endpoint>> endpoints_;
  std::deque<std::vector<abi::Address>> addresses_;
  std::deque<std::vector<abi::ServicePort>> services_;
  std::deque<std::vector<abi::ServicePortKey>> keys_;
  std::deque<abi::NodeFacts> nodes_;
  std::deque<abi::Transaction> transactions_;
};

// `count` service ports with `endpoints` each; no two share an address.
std::vector<ServiceSpec> many_services(std::size_t count, std::size_t endpoints,
                                       abi::Family family = abi::Family::kIpv4);

}  // namespace sluice::test

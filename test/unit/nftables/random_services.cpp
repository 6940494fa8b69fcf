// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/nftables/random_services.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::test {

namespace {

constexpr unsigned kPlaces = 20;  // number of endpoints
constexpr unsigned kMostEndpoints = 12;
constexpr unsigned kSharedAddresses = 3;  // addresses that several Services use
constexpr unsigned kSharedNodePorts = 2;

bool same_place(const EndpointSpec& a, const EndpointSpec& b) { return a.address == b.address && a.port == b.port; }

}  // namespace

std::string RandomServices::name(unsigned number) {
  return {'s', static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
}

std::string RandomServices::address(const char* v4, const char* v6, unsigned number) const {
  return (family_ == abi::Family::kIpv4 ? v4 : v6) + std::to_string(number + 1);
}

EndpointSpec RandomServices::endpoint() {
  const unsigned place = pick(kPlaces);
  EndpointSpec made;
  made.address = address("10.180.0.", "fd00:180::", place / 2);
  made.port = place % 2 == 0 ? 80 : 8080;
  made.local = chance(40);
  made.condition = chance(85) ? Condition::kReady : chance(50) ? Condition::kTerminating : Condition::kGone;
  return made;
}

std::vector<std::string> RandomServices::ranges() {
  const bool four = family_ == abi::Family::kIpv4;
  const std::vector<std::string> all =
      four ? std::vector<std::string>{"203.0.113.0/25", "198.51.100.0/24", "192.168.0.0/16", "8.8.8.8/32"}
           : std::vector<std::string>{"2001:db8:1::/64", "2001:db8:2::/48", "fd00:9::/64", "2001:db8::8/128"};
  std::vector<std::string> some;
  for (const std::string& one : all) {
    if (chance(40)) some.push_back(one);
  }
  return some;
}

ServiceSpec RandomServices::make(unsigned number) {
  ServiceSpec spec;
  spec.name = name(number);
  spec.protocol = number % 4 == 2 ? abi::Protocol::kUdp : number % 4 == 3 ? abi::Protocol::kSctp : abi::Protocol::kTcp;
  // Two of them share an address, like ports of one Service.
  spec.cluster_ip = address("172.30.0.", "fd00:30::", number / 2);
  spec.port = static_cast<std::uint16_t>(number % 2 == 0 ? 80 : 443);
  if (chance(10)) spec.port = static_cast<std::uint16_t>(spec.port + 1000);
  if (chance(35)) {
    spec.node_port = static_cast<std::uint16_t>(30000 + (chance(20) ? pick(kSharedNodePorts) : 100 + number));
  }
  if (chance(30)) spec.external_ips.push_back(address("192.0.2.", "2001:db8:e::", 100 + number));
  if (chance(15)) spec.external_ips.push_back(address("192.0.2.", "2001:db8:e::", pick(kSharedAddresses)));
  if (chance(35)) {
    spec.vips.push_back(address("198.18.0.", "2001:db8:b::", number));
    if (chance(10)) spec.vips.push_back(address("192.0.2.", "2001:db8:e::", pick(kSharedAddresses)));
    if (chance(60)) spec.source_ranges = ranges();
  }
  spec.internal_local = chance(20);
  spec.external_local = chance(35);
  if (chance(35)) spec.affinity_seconds = chance(70) ? 10800 : 60;
  const unsigned endpoints = chance(12) ? 0 : pick(kMostEndpoints + 1);
  while (spec.endpoints.size() < endpoints) {
    const EndpointSpec one = endpoint();
    if (std::none_of(spec.endpoints.begin(), spec.endpoints.end(),
                     [&](const EndpointSpec& other) { return same_place(one, other); }))
      spec.endpoints.push_back(one);
  }
  return spec;
}

void RandomServices::nudge(ServiceSpec& spec) {
  if (!spec.endpoints.empty() && chance(50)) {
    spec.endpoints.erase(spec.endpoints.begin() +
                         static_cast<std::ptrdiff_t>(pick(static_cast<unsigned>(spec.endpoints.size()))));
  }
  if (chance(60)) {
    const EndpointSpec one = endpoint();
    if (std::none_of(spec.endpoints.begin(), spec.endpoints.end(),
                     [&](const EndpointSpec& other) { return same_place(one, other); }))
      spec.endpoints.push_back(one);
  }
}

std::vector<ServiceSpec> list_of(const Services& services) {
  std::vector<ServiceSpec> list;
  for (const auto& [name, spec] : services) list.push_back(spec);
  return list;
}

}  // namespace sluice::test

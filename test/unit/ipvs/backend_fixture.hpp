// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Shared helpers of the tests of the whole backend.
#pragma once

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>

#include <cstdint>
#include <string>
#include <vector>

#include "test/unit/ipvs/backend_rig.hpp"

namespace sluice::test {

class IpvsFixture : public CppUnit::TestFixture {
 protected:
  static constexpr abi::Family kFamily = abi::Family::kIpv4;

  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
  static std::vector<ServiceSpec> services() {
    std::vector<ServiceSpec> made = many_services(3, 2);
    made[0].node_port = 30001;
    made[1].vips = {"1.2.3.4"};
    made[1].source_ranges = {"203.0.113.0/25"};
    return made;
  }
  static abi::Address address(const std::string& text) { return *sdk::parse_address(text, kFamily); }
  static void put_server(IpvsRig& rig, const ipvs::ServerKey& key) {
    ipvs::FakeServerKernel::Server server;
    server.attributes.key = key;
    server.attributes.scheduler = "rr";
    server.real[{address("10.77.0.1"), 8080}] = {};
    rig.servers.held[key] = server;
  }
};

}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Descriptions of the kernel's table.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace inspection_test {

using nftables::SetId;

class NftablesInspectionTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesInspectionTest);
  CPPUNIT_TEST(services_are_shown_with_their_endpoints);
  CPPUNIT_TEST(node_ports_are_shown_with_their_addresses);
  CPPUNIT_TEST(one_service_is_shown);
  CPPUNIT_TEST(drift_and_unused_objects_are_shown);
  CPPUNIT_TEST(without_a_table_there_is_nothing);
  CPPUNIT_TEST_SUITE_END();

  static std::string lines(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& line : all) text += line + "\n";
    return text;
  }
  static ServiceSpec example() {
    ServiceSpec service;
    service.endpoints = {{"10.180.2.1", 80, false}, {"10.180.0.1", 80, true}};
    return service;
  }

  void services_are_shown_with_their_endpoints() {
    NftablesRig rig;
    ServiceSpec local = example();
    local.node_port = 30001;
    local.external_local = true;
    ServiceSpec limited = example();
    limited.name = "svc2";
    limited.cluster_ip = "172.30.0.42";
    limited.vips = {"1.2.3.4"};
    limited.source_ranges = {"203.0.113.0/25"};
    limited.affinity_seconds = 60;
    ServiceSpec empty = example();
    empty.name = "svc3";
    empty.cluster_ip = "172.30.0.43";
    empty.endpoints.clear();
    ServiceSpec elsewhere = example();
    elsewhere.name = "svc4";
    elsewhere.cluster_ip = "172.30.0.44";
    elsewhere.internal_local = true;
    elsewhere.endpoints.pop_back();
    CPPUNIT_ASSERT(rig.full({local, limited, empty, elsewhere}) == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "ns1/svc1:p80 172.30.0.41:80/tcp -> 10.180.0.1:80, 10.180.2.1:80\n"
            "ns1/svc1:p80 :30001/tcp at every address of this node -> 10.180.0.1:80; from this node -> 10.180.0.1:80, "
            "10.180.2.1:80\n"
            "ns1/svc2:p80 1.2.3.4:80/tcp sticky for 60 s masqueraded -> 10.180.0.1:80, 10.180.2.1:80; only for "
            "203.0.113.0/25\n"
            "ns1/svc2:p80 172.30.0.42:80/tcp sticky for 60 s -> 10.180.0.1:80, 10.180.2.1:80\n"
            "ns1/svc3:p80 172.30.0.43:80/tcp -> rejected, no endpoints\n"
            "ns1/svc4:p80 172.30.0.44:80/tcp -> dropped, no endpoints on this node\n"),
        lines(rig.inspect()));
    const std::uint64_t listings = rig.table.statistics.listings;
    rig.inspect();
    CPPUNIT_ASSERT_EQUAL(listings + 1, rig.table.statistics.listings);  // listed for each inspection
    CPPUNIT_ASSERT(rig.inspect() == rig.inspect_lines());
  }

  void node_ports_are_shown_with_their_addresses() {
    NftablesRig rig;
    ServiceSpec service = example();
    service.node_port = 30001;
    ServiceSpec empty = example();
    empty.name = "svc2";
    empty.cluster_ip = "172.30.0.42";
    empty.node_port = 30002;
    empty.endpoints.clear();
    const auto node_ports = [&] {
      std::string text;
      for (const std::string& line : rig.inspect()) {
        if (line.find(" :") != std::string::npos) text += line.substr(line.find(':', line.find(' '))) + "\n";
      }
      return text;
    };
    rig.node.flags = 0;
    rig.node.node_port_addresses = {"192.168.0.20", "192.168.0.100"};
    CPPUNIT_ASSERT(rig.full({service, empty}) == abi::Code::kOk);
    const std::string targets = " masqueraded -> 10.180.0.1:80, 10.180.2.1:80\n";
    CPPUNIT_ASSERT_EQUAL(":30001/tcp at 192.168.0.100, 192.168.0.20" + targets +
                             ":30002/tcp at 192.168.0.100, 192.168.0.20 -> rejected, no endpoints\n",
                         node_ports());
    const auto one = *sdk::parse_address("192.168.0.20", abi::Family::kIpv4);
    rig.table.state.elements[SetId::kNodePortIps].erase(nftables::address_key(abi::Family::kIpv4, one));
    CPPUNIT_ASSERT_EQUAL(
        ":30001/tcp at 192.168.0.100" + targets + ":30002/tcp at 192.168.0.100 -> rejected, no endpoints\n",
        node_ports());
    rig.table.state.chains["services"].rules.pop_back();
    CPPUNIT_ASSERT_EQUAL(
        ":30001/tcp at no address" + targets + ":30002/tcp at 192.168.0.100 -> rejected, no endpoints\n", node_ports());
  }

  void one_service_is_shown() {
    NftablesRig rig;
    ServiceSpec one = example();
    ServiceSpec other = example();
    other.name = "svc10";
    other.cluster_ip = "172.30.0.42";
    CPPUNIT_ASSERT(rig.full({one, other}) == abi::Code::kOk);
    for (const std::string name : {"ns1/svc1", "ns1/svc1:p80"}) {
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.inspect(name).size());
    }
    CPPUNIT_ASSERT(rig.inspect("ns1/svc").empty());
    CPPUNIT_ASSERT(rig.inspect("svc1").empty());
  }

  void drift_and_unused_objects_are_shown() {
    NftablesRig rig;
    CPPUNIT_ASSERT(rig.full({example()}) == abi::Code::kOk);
    auto& elements = rig.table.state.elements;
    const auto address = *sdk::parse_address("172.30.0.41", abi::Family::kIpv4);
    const auto other = *sdk::parse_address("172.30.0.99", abi::Family::kIpv4);
    const nftables::FrontendKey at{false, address, abi::Protocol::kTcp, 80};
    const nftables::FrontendKey stray{false, other, abi::Protocol::kTcp, 80};
    elements[SetId::kEndpoints].erase(nftables::slot_key(abi::Family::kIpv4, at, nftables::kClusterSlots));
    elements[SetId::kEndpoints][nftables::slot_key(abi::Family::kIpv4, at, 7)] = {
        nftables::endpoint_data(abi::Family::kIpv4, {other, 80}), ""};
    elements[SetId::kServiceIps][nftables::frontend_key(abi::Family::kIpv4, stray)] = {nftables::number_data(77), "x"};
    const std::string text = lines(rig.inspect());
    for (const std::string part :
         {"(nothing in slot 0:1)\n",
          "not wanted by any Service: 172.30.0.99:80/tcp -> nowhere (there is no chain 77 in service-chains)\n",
          "not wanted by any Service: element 172.30.0.41:80/tcp slot 0:7 of endpoints\n"}) {
      CPPUNIT_ASSERT_MESSAGE(text, text.find(part) != std::string::npos);
    }
  }

  void without_a_table_there_is_nothing() {
    NftablesRig rig;
    CPPUNIT_ASSERT(rig.inspect().empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesInspectionTest);

}  // namespace inspection_test
}  // namespace sluice::test

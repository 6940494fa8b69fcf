// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/extensions/HelperMacros.h>

#include "sluice/sdk/sdk.hpp"

namespace sluice::sdk {
namespace service_test {

class ServiceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServiceTest);
  CPPUNIT_TEST(name_omits_an_unnamed_port);
  CPPUNIT_TEST(protocol_is_part_of_the_id_only);
  CPPUNIT_TEST(keys_compare_all_four_parts);
  CPPUNIT_TEST(protocols_have_names);
  CPPUNIT_TEST(endpoints_are_selected_by_policy_and_flag);
  CPPUNIT_TEST(frontends_are_selected_by_kind);
  CPPUNIT_TEST(printed_name_is_parsed);
  CPPUNIT_TEST_SUITE_END();

  static abi::ServicePortKey key(const char* port, abi::Protocol protocol = abi::Protocol::kTcp) {
    return {view("shop"), view("cart"), view(port), protocol, {}};
  }

  void name_omits_an_unnamed_port() {
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), service_port_name(key("http")));
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart"), service_port_name(key("")));
  }

  void protocol_is_part_of_the_id_only() {
    CPPUNIT_ASSERT_EQUAL(service_port_name(key("dns")), service_port_name(key("dns", abi::Protocol::kUdp)));
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:dns/udp"), service_port_id(key("dns", abi::Protocol::kUdp)));
  }

  void keys_compare_all_four_parts() {
    CPPUNIT_ASSERT(equal(key("a"), key("a")));
    CPPUNIT_ASSERT(!equal(key("a"), key("b")));
    CPPUNIT_ASSERT(!equal(key("a"), key("a", abi::Protocol::kSctp)));
  }

  void protocols_have_names() {
    CPPUNIT_ASSERT_EQUAL(std::string_view("sctp"), protocol_name(abi::Protocol::kSctp));
    CPPUNIT_ASSERT_EQUAL(std::string_view(), protocol_name(static_cast<abi::Protocol>(1)));
  }

  void endpoints_are_selected_by_policy_and_flag() {
    abi::Endpoint data[3] = {};
    data[0].port = 1;
    data[0].flags = abi::kEndpointInCluster;
    data[1].port = 2;
    data[1].flags = abi::kEndpointInCluster | abi::kEndpointInLocal;
    data[2].port = 3;
    data[2].flags = abi::kEndpointTerminating;
    abi::ServicePort port{};
    port.endpoints = array(data, 3);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, cluster_endpoints(port).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, local_endpoints(port).size());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{2}, local_endpoints(port)[0].port);
    CPPUNIT_ASSERT(has(endpoints_with(port, abi::kEndpointTerminating)[0], abi::kEndpointTerminating));
  }

  void printed_name_is_parsed() {
    for (const std::string name : {"shop/cart:http", "shop/cart", "/", "a/:", "shop/cart:"}) {
      const abi::ServicePortKey key = parse_service_port_name(name, abi::Protocol::kUdp);
      CPPUNIT_ASSERT(key.protocol == abi::Protocol::kUdp);
      // A colon without a port name is not printed.
      CPPUNIT_ASSERT_EQUAL(name.substr(0, name.size() - (name.back() == ':' ? 1 : 0)), service_port_name(key));
    }
    const abi::ServicePortKey key = parse_service_port_name("shop/cart:http", abi::Protocol::kTcp);
    CPPUNIT_ASSERT(equal(key, {view("shop"), view("cart"), view("http"), abi::Protocol::kTcp, {}}));
    CPPUNIT_ASSERT_EQUAL(std::string_view("nonsense"),
                         text(parse_service_port_name("nonsense", abi::Protocol::kTcp).service_namespace));
  }

  void frontends_are_selected_by_kind() {
    abi::Frontend data[2] = {};
    data[0].kind = abi::FrontendKind::kClusterIp;
    data[1].kind = abi::FrontendKind::kNodePort;
    data[1].port = 30080;
    abi::ServicePort port{};
    port.frontends = array(data, 2);
    CPPUNIT_ASSERT(is_known(data[0].kind) && is_known(data[1].kind) && !is_known(static_cast<abi::FrontendKind>(9)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, frontends_of(port, abi::FrontendKind::kNodePort).size());
    CPPUNIT_ASSERT_EQUAL(std::uint16_t{30080}, frontends_of(port, abi::FrontendKind::kNodePort)[0].port);
    CPPUNIT_ASSERT(frontends_of(port, abi::FrontendKind::kExternalIp).empty());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServiceTest);

}  // namespace service_test
}  // namespace sluice::sdk

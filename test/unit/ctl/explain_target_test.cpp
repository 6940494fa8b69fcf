// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/ctl/explain_target.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

namespace sluice::ctl {
namespace explain_target_test {

using nlohmann::json;

class ExplainTargetTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ExplainTargetTest);
  CPPUNIT_TEST(clients_have_an_origin);
  CPPUNIT_TEST(a_service_is_explained_by_each_frontend);
  CPPUNIT_TEST(an_address_and_port_select_a_frontend);
  CPPUNIT_TEST(an_address_without_service_is_explained_too);
  CPPUNIT_TEST(node_ports_are_those_of_this_node_or_of_an_address);
  CPPUNIT_TEST(the_client_selects_the_family);
  CPPUNIT_TEST(nothing_and_too_much_are_errors);
  CPPUNIT_TEST(families_without_a_packet_are_omitted);
  CPPUNIT_TEST_SUITE_END();

  static json port(const char* protocol, json frontends) {
    return {{"protocol", protocol}, {"frontends", std::move(frontends)}};
  }
  static json frontend(const char* kind, const char* address, int number) {
    json addresses = json::array();
    if (*address != 0) addresses.push_back(address);
    return {{"kind", kind}, {"addresses", std::move(addresses)}, {"port", number}};
  }
  // shop/cart, dual-stack with a node port, and a DNS Service with one address and two protocols.
  static json services() {
    const json v4 = json::array(
        {port("tcp", json::array({frontend("ClusterIP", "172.30.0.41", 80), frontend("NodePort", "", 30080)})),
         port("tcp", json::array({frontend("ClusterIP", "172.30.0.10", 53)})),
         port("udp", json::array({frontend("ClusterIP", "172.30.0.10", 53)}))});
    const json v6 = json::array({port("tcp", json::array({frontend("ClusterIP", "fd00::41", 80)}))});
    json families = json::array();
    families.push_back({{"family", "IPv4"}, {"service_ports", v4}});
    families.push_back({{"family", "IPv6"}, {"service_ports", v6}});
    families.push_back({{"family", "IPv6"}, {"error", "busy"}});
    return {{"families", families}};
  }
  // "4 172.30.0.41 80 tcp node -", in lines.
  static std::string packets(const std::string& target, const Client& client = {}, const json& of = services()) {
    const auto requests = explanation_requests(target, client, of);
    if (!requests.ok()) return requests.status().message();
    std::string out;
    for (const json& one : *requests) {
      const json& packet = one["packet"];
      CPPUNIT_ASSERT_EQUAL(std::string("inspect explanation"),
                           one["command"].get<std::string>() + " " + one["kind"].get<std::string>());
      out += one["family"].dump() + " " + packet.value("address", "-") + " " + packet["port"].dump() + " " +
             packet["protocol"].get<std::string>() + " " + packet["from"].get<std::string>() + " " +
             packet.value("client", "-") + "\n";
    }
    return out;
  }
  static Client client(const std::string& text) { return *parse_client(text); }

 public:
  void clients_have_an_origin() {
    CPPUNIT_ASSERT(client("node").from == "node" && !client("node").address);
    CPPUNIT_ASSERT(client("10.180.0.1").from == "pod" && client("10.180.0.1").address);
    CPPUNIT_ASSERT(client("outside").from == "outside" && !client("outside").address);
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::7"), client("outside:fd00::7").address->to_string());
    for (const char* const bad : {"", "pod", "outside:", "outside:x", "node:10.0.0.1", "10.0.0"}) {
      CPPUNIT_ASSERT_MESSAGE(bad, !parse_client(bad).ok());
    }
  }

  void a_service_is_explained_by_each_frontend() {
    CPPUNIT_ASSERT_EQUAL(std::string("4 172.30.0.41 80 tcp node -\n4 - 30080 tcp node -\n4 172.30.0.10 53 tcp node -\n"
                                     "4 172.30.0.10 53 udp node -\n6 fd00::41 80 tcp node -\n"),
                         packets("shop"));
  }

  void an_address_and_port_select_a_frontend() {
    CPPUNIT_ASSERT_EQUAL(std::string("4 172.30.0.10 53 tcp node -\n4 172.30.0.10 53 udp node -\n"),
                         packets("172.30.0.10:53"));
    CPPUNIT_ASSERT_EQUAL(std::string("4 172.30.0.10 53 udp node -\n"), packets("172.30.0.10:53/udp"));
    CPPUNIT_ASSERT_EQUAL(std::string("6 fd00::41 80 tcp node -\n"), packets("[fd00::41]:80"));
  }

  void an_address_without_service_is_explained_too() {
    CPPUNIT_ASSERT_EQUAL(std::string("4 172.30.0.99 80 tcp node -\n"), packets("172.30.0.99:80"));
    CPPUNIT_ASSERT_EQUAL(std::string("4 172.30.0.99 80 sctp node -\n"), packets("172.30.0.99:80/sctp"));
  }

  void node_ports_are_those_of_this_node_or_of_an_address() {
    CPPUNIT_ASSERT_EQUAL(std::string("4 - 30080 tcp node -\n"), packets(":30080"));
    CPPUNIT_ASSERT_EQUAL(std::string("4 - 30080 tcp node -\n"), packets("30080/tcp"));
    CPPUNIT_ASSERT_EQUAL(std::string("4 192.168.1.5 30080 tcp outside 192.0.2.1\n"),
                         packets("192.168.1.5:30080", client("outside")));
  }

  void the_client_selects_the_family() {
    CPPUNIT_ASSERT_EQUAL(std::string("6 fd00::41 80 tcp pod fd00::9\n"), packets("shop", client("fd00::9")));
    CPPUNIT_ASSERT_EQUAL(std::string("6 fd00::41 80 tcp outside 2001:db8::1\n"),
                         packets("[fd00::41]:80", client("outside")));
  }

  void nothing_and_too_much_are_errors() {
    CPPUNIT_ASSERT_EQUAL(std::string("no Service with an address or node port matches shop/none"),
                         packets("shop/none", {}, {{"families", json::array()}}));
    CPPUNIT_ASSERT_EQUAL(std::string("no Service with an address or node port matches :31000"), packets(":31000"));
    json many = services();
    for (int i = 0; i < 20; ++i) {
      many["families"][0]["service_ports"].push_back(
          port("tcp", json::array({frontend("ClusterIP", "172.30.1.1", 1000 + i)})));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("shop has 25 addresses and ports, and at most 16 are explained; use ADDRESS:PORT"),
                         packets("shop", {}, many));
  }

  void families_without_a_packet_are_omitted() {
    const auto v6 = explanation_requests("[fd00::41]:80", {}, services());
    const json shown = families_of(services(), *v6);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, shown["families"].size());  // the second one has the error
    CPPUNIT_ASSERT_EQUAL(std::string("IPv6"), shown["families"][0]["family"].get<std::string>());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3},
                         families_of(services(), *explanation_requests("shop", {}, services()))["families"].size());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(ExplainTargetTest);

}  // namespace explain_target_test
}  // namespace sluice::ctl

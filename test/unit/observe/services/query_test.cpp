// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/observe/services/query.hpp"

namespace sluice::observe {
namespace query_test {

using store::FrontendKind;

class ServicesQueryTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServicesQueryTest);
  CPPUNIT_TEST(names);
  CPPUNIT_TEST(addresses);
  CPPUNIT_TEST(node_ports);
  CPPUNIT_TEST(protocols);
  CPPUNIT_TEST(invalid_queries);
  CPPUNIT_TEST(unwanted_lines);
  CPPUNIT_TEST_SUITE_END();

  static lib::IpAddress ip(const char* text) { return lib::IpAddress::parse(text).value(); }
  // shop/cart:http 172.30.0.41:80/tcp, external IP 192.0.2.1, node port 30080, endpoints 10.1.0.1:8080
  // and 10.1.0.2:8080, of which the second one is not used.
  static store::ExplainedPort cart() {
    store::ExplainedPort out;
    out.port.key = {{base::Symbol("shop"), "cart"}, base::Symbol("http"), model::Protocol::tcp};
    out.port.frontends = {{FrontendKind::cluster_ip, ip("172.30.0.41"), 80},
                          {FrontendKind::external_ip, ip("192.0.2.1"), 80},
                          {FrontendKind::node_port, lib::IpAddress::any(lib::Family::ipv4), 30080}};
    for (const char* address : {"10.1.0.1", "10.1.0.2"}) {
      store::ExplainedEndpoint endpoint;
      endpoint.endpoint.address = ip(address).bytes();
      endpoint.endpoint.port = 8080;
      endpoint.cluster = out.endpoints.empty() ? store::Use::used : store::Use::not_ready;
      out.endpoints.push_back(endpoint);
    }
    return out;
  }
  static snapshot::NodeFacts node() {
    snapshot::NodeFacts out;
    out.node_ports_match_all = false;
    out.node_port_addresses = {ip("198.51.100.7")};
    out.local_addresses = {ip("198.51.100.7"), ip("198.51.100.8")};
    return out;
  }
  static ServiceQuery query(const std::string& text) {
    const auto out = ServiceQuery::parse(text);
    CPPUNIT_ASSERT_MESSAGE(text + ": " + out.status().message(), out.ok());
    return *out;
  }
  static void expect(bool wanted, const std::vector<std::string>& texts) {
    const auto port = cart();
    const auto facts = node();
    for (const std::string& text : texts) {
      const auto asked = query(text);
      CPPUNIT_ASSERT_EQUAL_MESSAGE(text, wanted, asked.may_match(port.port.key.service) && asked.matches(port, &facts));
    }
  }

 public:
  void names() {
    expect(true, {"", "shop", "cart", "shop/cart", "shop/cart:http"});
    expect(false, {"sho", "car", "http", "shop/other", "other/cart", "shop/cart:https"});
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http"), query("shop/cart:http").service_name());
    CPPUNIT_ASSERT_EQUAL(std::string(), query("shop").service_name());
    CPPUNIT_ASSERT(query("").everything() && !query("").by_name());
    CPPUNIT_ASSERT(query("shop").by_name() && query("shop/cart").by_name() && !query("1.2.3.4").by_name());
  }

  void addresses() {
    expect(true, {"172.30.0.41", "172.30.0.41:80", "192.0.2.1", "10.1.0.1", "10.1.0.2", "10.1.0.2:8080"});
    expect(false,
           {"172.30.0.42", "172.30.0.41:81", "10.1.0.1:80", "0.0.0.0", "0.0.0.0:30080", "fd00::1", "[fd00::1]:80"});
    auto port = cart();
    port.port.family = lib::Family::ipv6;
    port.port.frontends = {{FrontendKind::cluster_ip, ip("fd00::41"), 80}};
    port.endpoints.clear();
    CPPUNIT_ASSERT(query("fd00::41").matches(port, nullptr) && query("[fd00::41]:80").matches(port, nullptr));
    CPPUNIT_ASSERT(!query("[fd00::41]:81").matches(port, nullptr) && !query("fd00::42").matches(port, nullptr));
  }

  void node_ports() {
    expect(true, {"30080", ":30080", "198.51.100.7:30080"});
    expect(false, {"80", ":80", "8080", "198.51.100.8:30080", "198.51.100.7:80", "198.51.100.7"});
    auto facts = node();
    facts.node_ports_match_all = true;
    CPPUNIT_ASSERT(query("198.51.100.8:30080").matches(cart(), &facts));
    CPPUNIT_ASSERT(!query("198.51.100.8:30080").matches(cart(), nullptr));
  }

  void protocols() {
    expect(true, {"172.30.0.41:80/tcp", ":30080/tcp", "10.1.0.1/tcp"});
    expect(false, {"172.30.0.41:80/udp", ":30080/sctp", "10.1.0.1/udp"});
    // A Service may have such a name.
    CPPUNIT_ASSERT_EQUAL(std::string("shop/tcp"), query("shop/tcp").service_name());
  }

  void invalid_queries() {
    for (const std::string& text :
         std::vector<std::string>{"/cart", "shop/", "shop/:http", "shop/cart:", "a/b/c", "a b", ":", ":0", "65536x ",
                                  ":65536", "1.2.3.4:0", "[fd00::1", "[]:80", "\x1b[2J", std::string(600, 'a')}) {
      const auto out = ServiceQuery::parse(text);
      CPPUNIT_ASSERT_MESSAGE(text, !out.ok());
      CPPUNIT_ASSERT_MESSAGE(out.status().message(),
                             out.status().message().find("use NAMESPACE/NAME[:PORT]") != std::string::npos);
      CPPUNIT_ASSERT(out.status().message().size() < 800);
    }
  }

  void unwanted_lines() {
    const std::string line = "not wanted by any Service: 172.30.0.99:80/tcp -> 10.1.0.9:80";
    for (const char* text : {"", "172.30.0.99", "172.30.0.99:80", "10.1.0.9"})
      CPPUNIT_ASSERT_MESSAGE(text, query(text).wants_unwanted(line));
    for (const char* text : {"shop", "shop/cart", "172.30.0.98", ":80"})
      CPPUNIT_ASSERT_MESSAGE(text, !query(text).wants_unwanted(line));
    CPPUNIT_ASSERT(query(":30080").wants_unwanted("not wanted by any Service: :30080/tcp -> 10.1.0.9:80"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServicesQueryTest);

}  // namespace query_test
}  // namespace sluice::observe

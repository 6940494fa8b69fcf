// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/virtual_servers.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <linux/ip_vs.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cstdint>

#include "lib/netlink/message.hpp"

namespace sluice::cleanup {
namespace virtual_servers_test {

lib::IpAddress ip(const char* text) { return *lib::IpAddress::parse(text); }
SetEntry front(const char* address, std::uint8_t protocol, std::uint16_t port) {
  return {true, ip(address), protocol, port};
}
SetEntry node_port(std::uint16_t port) { return {false, {}, 0, port}; }

class CleanupVirtualServersTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupVirtualServersTest);
  CPPUNIT_TEST(owns_servers_with_addresses_on_the_link);
  CPPUNIT_TEST(owns_servers_that_are_in_the_sets);
  CPPUNIT_TEST(owns_node_ports_on_addresses_of_this_node);
  CPPUNIT_TEST(owns_node_ports_on_former_addresses_of_this_node);
  CPPUNIT_TEST(reads_temporary_sets_that_a_killed_daemon_left);
  CPPUNIT_TEST(ignores_health_check_node_ports);
  CPPUNIT_TEST(parses_the_reply_of_the_kernel);
  CPPUNIT_TEST_SUITE_END();

 public:
  void owns_servers_with_addresses_on_the_link() {
    IpvsOwnership ownership;
    CPPUNIT_ASSERT(ownership.empty());
    ownership.local(ip("192.168.0.2"));
    CPPUNIT_ASSERT(ownership.empty());
    ownership.bound(ip("172.30.0.41"));
    CPPUNIT_ASSERT(!ownership.empty());
    CPPUNIT_ASSERT(ownership.is_ours({ip("172.30.0.41"), IPPROTO_TCP, 80}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("172.30.0.42"), IPPROTO_TCP, 80}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.2"), IPPROTO_TCP, 80}));
  }

  void owns_servers_that_are_in_the_sets() {
    IpvsOwnership ownership;
    ownership.listed("KUBE-EXTERNAL-IP", front("192.168.0.2", IPPROTO_TCP, 80));
    ownership.listed("KUBE-6-LOAD-BALANCER", front("fd00::9", IPPROTO_UDP, 53));
    ownership.listed("KUBE-LOOP-BACK", front("10.180.0.1", IPPROTO_TCP, 80));
    ownership.listed("KUBE-NODE-PORT-SCTP-HASH", front("192.168.0.2", IPPROTO_SCTP, 30002));
    CPPUNIT_ASSERT(ownership.is_ours({ip("192.168.0.2"), IPPROTO_TCP, 80}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.2"), IPPROTO_UDP, 80}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.2"), IPPROTO_TCP, 81}));
    CPPUNIT_ASSERT(ownership.is_ours({ip("fd00::9"), IPPROTO_UDP, 53}));
    CPPUNIT_ASSERT(ownership.is_ours({ip("192.168.0.2"), IPPROTO_SCTP, 30002}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("10.180.0.1"), IPPROTO_TCP, 80}));
  }

  void owns_node_ports_on_addresses_of_this_node() {
    IpvsOwnership ownership;
    ownership.local(ip("192.168.0.2"));
    ownership.local(ip("fd00::2"));
    ownership.listed("KUBE-NODE-PORT-TCP", node_port(30001));
    CPPUNIT_ASSERT(ownership.is_ours({ip("192.168.0.2"), IPPROTO_TCP, 30001}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.2"), IPPROTO_UDP, 30001}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.9"), IPPROTO_TCP, 30001}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("fd00::2"), IPPROTO_TCP, 30001}));
    ownership.listed("KUBE-6-NODE-PORT-LOCAL-TCP", node_port(30001));
    CPPUNIT_ASSERT(ownership.is_ours({ip("fd00::2"), IPPROTO_TCP, 30001}));
  }

  void owns_node_ports_on_former_addresses_of_this_node() {
    IpvsOwnership ownership;
    ownership.listed("KUBE-NODE-PORT-IPS", {true, ip("192.168.0.9"), 0, 0});
    ownership.listed("KUBE-6-NODE-PORT-IPS", {true, ip("fd00::9"), 0, 0});
    CPPUNIT_ASSERT(ownership.empty());
    ownership.listed("KUBE-NODE-PORT-UDP", node_port(30001));
    ownership.listed("KUBE-6-NODE-PORT-TCP", node_port(30001));
    CPPUNIT_ASSERT(ownership.is_ours({ip("192.168.0.9"), IPPROTO_UDP, 30001}));
    CPPUNIT_ASSERT(ownership.is_ours({ip("fd00::9"), IPPROTO_TCP, 30001}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.9"), IPPROTO_TCP, 30001}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.9"), IPPROTO_UDP, 6443}));
    CPPUNIT_ASSERT(!ownership.is_ours({ip("192.168.0.8"), IPPROTO_UDP, 30001}));
  }

  void reads_temporary_sets_that_a_killed_daemon_left() {
    IpvsOwnership ownership;
    ownership.listed("KUBE-CLUSTER-IP-N", front("172.30.0.41", IPPROTO_TCP, 80));
    ownership.listed("KUBE-6-LOAD-BALANCER-N", front("fd00::9", IPPROTO_UDP, 53));
    ownership.listed("KUBE-NODE-PORT-IPS-N", {true, ip("192.168.0.9"), 0, 0});
    ownership.listed("KUBE-6-NODE-PORT-LOCAL-SCTP-H-N", front("fd00::2", IPPROTO_SCTP, 30002));
    ownership.listed("KUBE-NODE-PORT-TCP-N", node_port(30001));
    CPPUNIT_ASSERT(ownership.is_ours({ip("172.30.0.41"), IPPROTO_TCP, 80}));
    CPPUNIT_ASSERT(ownership.is_ours({ip("fd00::9"), IPPROTO_UDP, 53}));
    CPPUNIT_ASSERT(ownership.is_ours({ip("fd00::2"), IPPROTO_SCTP, 30002}));
    CPPUNIT_ASSERT(ownership.is_ours({ip("192.168.0.9"), IPPROTO_TCP, 30001}));
  }

  void ignores_health_check_node_ports() {
    IpvsOwnership ownership;
    ownership.local(ip("192.168.0.2"));
    ownership.listed("KUBE-HEALTH-CHECK-NODE-PORT", node_port(32000));
    CPPUNIT_ASSERT(ownership.empty());
  }

  void parses_the_reply_of_the_kernel() {
    auto message = lib::netlink::make_message(100, 0, nullptr, 0);
    nlattr* nest = nla_nest_start(message.get(), IPVS_CMD_ATTR_SERVICE);
    const std::uint8_t address[16] = {172, 30, 0, 41};
    nla_put_u16(message.get(), IPVS_SVC_ATTR_AF, AF_INET);
    nla_put_u16(message.get(), IPVS_SVC_ATTR_PROTOCOL, IPPROTO_TCP);
    nla_put(message.get(), IPVS_SVC_ATTR_ADDR, sizeof(address), address);
    nla_put_u16(message.get(), IPVS_SVC_ATTR_PORT, htons(80));
    nla_nest_end(message.get(), nest);
    const auto server = parse_virtual_server(nest);
    CPPUNIT_ASSERT(server.has_value());
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80/TCP"), server->to_string());

    auto by_mark = lib::netlink::make_message(100, 0, nullptr, 0);
    nest = nla_nest_start(by_mark.get(), IPVS_CMD_ATTR_SERVICE);
    nla_put_u16(by_mark.get(), IPVS_SVC_ATTR_AF, AF_INET);
    nla_put_u32(by_mark.get(), IPVS_SVC_ATTR_FWMARK, 7);
    nla_nest_end(by_mark.get(), nest);
    CPPUNIT_ASSERT(!parse_virtual_server(nest).has_value());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupVirtualServersTest);

}  // namespace virtual_servers_test
}  // namespace sluice::cleanup

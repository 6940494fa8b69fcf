// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/sets/set_spec.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <vector>

namespace sluice::ipvs {
namespace set_spec_test {

using abi::Family;
using abi::Protocol;

class SetSpecTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SetSpecTest);
  CPPUNIT_TEST(names_and_types_are_those_of_the_behaviour);
  CPPUNIT_TEST(comments_are_those_of_the_behaviour);
  CPPUNIT_TEST(no_two_names_are_the_same_or_too_long);
  CPPUNIT_TEST(entries_are_printed_as_ipset_does);
  CPPUNIT_TEST(entries_are_distinguished);
  CPPUNIT_TEST_SUITE_END();

 public:
  void names_and_types_are_those_of_the_behaviour() {
    struct Line {
      const char *name, *type, *ipv6_name;
    };
    constexpr Line kTable[] = {
        {"KUBE-LOOP-BACK", "hash:ip,port,ip", "KUBE-6-LOOP-BACK"},
        {"KUBE-CLUSTER-IP", "hash:ip,port", "KUBE-6-CLUSTER-IP"},
        {"KUBE-EXTERNAL-IP", "hash:ip,port", "KUBE-6-EXTERNAL-IP"},
        {"KUBE-EXTERNAL-IP-LOCAL", "hash:ip,port", "KUBE-6-EXTERNAL-IP-LOCAL"},
        {"KUBE-LOAD-BALANCER", "hash:ip,port", "KUBE-6-LOAD-BALANCER"},
        {"KUBE-LOAD-BALANCER-FW", "hash:ip,port", "KUBE-6-LOAD-BALANCER-FW"},
        {"KUBE-LOAD-BALANCER-LOCAL", "hash:ip,port", "KUBE-6-LOAD-BALANCER-LOCAL"},
        {"KUBE-LOAD-BALANCER-SOURCE-IP", "hash:ip,port,ip", "KUBE-6-LOAD-BALANCER-SOURCE-IP"},
        {"KUBE-LOAD-BALANCER-SOURCE-CIDR", "hash:ip,port,net", "KUBE-6-LOAD-BALANCER-SOURCE-CID"},
        {"KUBE-NODE-PORT-TCP", "bitmap:port", "KUBE-6-NODE-PORT-TCP"},
        {"KUBE-NODE-PORT-LOCAL-TCP", "bitmap:port", "KUBE-6-NODE-PORT-LOCAL-TCP"},
        {"KUBE-NODE-PORT-UDP", "bitmap:port", "KUBE-6-NODE-PORT-UDP"},
        {"KUBE-NODE-PORT-LOCAL-UDP", "bitmap:port", "KUBE-6-NODE-PORT-LOCAL-UDP"},
        {"KUBE-NODE-PORT-SCTP-HASH", "hash:ip,port", "KUBE-6-NODE-PORT-SCTP-HASH"},
        {"KUBE-NODE-PORT-LOCAL-SCTP-HASH", "hash:ip,port", "KUBE-6-NODE-PORT-LOCAL-SCTP-HAS"},
        {"KUBE-HEALTH-CHECK-NODE-PORT", "bitmap:port", "KUBE-6-HEALTH-CHECK-NODE-PORT"},
        {"KUBE-IPVS-IPS", "hash:ip", "KUBE-6-IPVS-IPS"},
        {"KUBE-NODE-PORT-IPS", "hash:ip", "KUBE-6-NODE-PORT-IPS"},  // ours
    };
    std::size_t i = 0;
    for (const SetId id : all_sets()) {
      CPPUNIT_ASSERT_EQUAL(i, static_cast<std::size_t>(id));
      CPPUNIT_ASSERT(spec(id).id == id);
      CPPUNIT_ASSERT_EQUAL(std::string(kTable[i].name), set_name(id, Family::kIpv4));
      CPPUNIT_ASSERT_EQUAL(std::string(kTable[i].ipv6_name), set_name(id, Family::kIpv6));
      CPPUNIT_ASSERT_EQUAL(std::string(kTable[i].type), std::string(type_name(spec(id).type)));
      ++i;
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{18}, i);
  }

  void comments_are_those_of_the_behaviour() {
    std::string all;
    for (const SetId id : all_sets()) all.append(spec(id).comment).append("\n");
    CPPUNIT_ASSERT_EQUAL(
        std::string("Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose\n"
                    "Kubernetes service cluster ip + port for masquerade purpose\n"
                    "Kubernetes service external ip + port for masquerade and filter purpose\n"
                    "Kubernetes service external ip + port with externalTrafficPolicy=local\n"
                    "Kubernetes service lb portal\n"
                    "Kubernetes service load balancer ip + port for load balancer with sourceRange\n"
                    "Kubernetes service load balancer ip + port with externalTrafficPolicy=local\n"
                    "Kubernetes service load balancer ip + port + source IP for packet filter purpose\n"
                    "Kubernetes service load balancer ip + port + source cidr for packet filter purpose\n"
                    "Kubernetes nodeport TCP port for masquerade purpose\n"
                    "Kubernetes nodeport TCP port with externalTrafficPolicy=local\n"
                    "Kubernetes nodeport UDP port for masquerade purpose\n"
                    "Kubernetes nodeport UDP port with externalTrafficPolicy=local\n"
                    "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'\n"
                    "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'\n"
                    "Kubernetes health check node port\n"
                    "Addresses on the ipvs interface\n\n"),
        all);
  }

  void no_two_names_are_the_same_or_too_long() {
    std::set<std::string> names;
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
      for (const SetId id : all_sets()) {
        for (const std::string& name : {set_name(id, family), temporary_name(id, family)}) {
          CPPUNIT_ASSERT_MESSAGE(name, names.insert(name).second && name.size() <= 31);
        }
      }
    }
    CPPUNIT_ASSERT_EQUAL(4 * kSets, names.size());
  }

  void entries_are_printed_as_ipset_does() {
    SetEntry entry;
    entry.address = *sdk::parse_address("10.0.0.1", Family::kIpv4);
    entry.other = *sdk::parse_address("192.168.0.0", Family::kIpv4);
    entry.other_length = 16;
    entry.port = 80;
    entry.protocol = Protocol::kTcp;
    const auto printed = [&](SetType type, Family family = Family::kIpv4) { return to_string(entry, type, family); };
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1,tcp:80,192.168.0.0/16"), printed(SetType::kIpPortNet));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1,tcp:80"), printed(SetType::kIpPort));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1"), printed(SetType::kIp));
    CPPUNIT_ASSERT_EQUAL(std::string("80"), printed(SetType::kPorts));
    entry.other_length = 32;
    entry.protocol = Protocol::kSctp;
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1,sctp:80,192.168.0.0"), printed(SetType::kIpPortNet));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1,sctp:80,192.168.0.0"), printed(SetType::kIpPortIp));
    entry.address = *sdk::parse_address("fd00::1", Family::kIpv6);
    entry.other = *sdk::parse_address("fd00::", Family::kIpv6);
    entry.protocol = Protocol::kUdp;
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1,udp:80,fd00::/32"), printed(SetType::kIpPortNet, Family::kIpv6));
    entry.other_length = 128;
    CPPUNIT_ASSERT_EQUAL(std::string("fd00::1,udp:80,fd00::"), printed(SetType::kIpPortNet, Family::kIpv6));
  }

  void entries_are_distinguished() {
    SetEntry base;
    base.address = *sdk::parse_address("10.0.0.1", Family::kIpv4);
    base.other = *sdk::parse_address("10.0.0.0", Family::kIpv4);
    base.port = 80;
    base.protocol = Protocol::kTcp;
    base.other_length = 8;
    std::vector<SetEntry> all(6, base);
    all[1].address = base.other;
    all[2].other = base.address;
    all[3].port = 81;
    all[4].protocol = Protocol::kUdp;
    all[5].other_length = 9;
    std::unordered_set<std::size_t> hashes;
    for (const SetEntry& one : all) {
      CPPUNIT_ASSERT_EQUAL(std::ptrdiff_t{1}, std::count(all.begin(), all.end(), one));
      hashes.insert(SetEntryHash()(one));
      for (const SetEntry& other : all) CPPUNIT_ASSERT_EQUAL(!(one == other), (one < other) != (other < one));
    }
    CPPUNIT_ASSERT_EQUAL(all.size(), hashes.size());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(SetSpecTest);

}  // namespace set_spec_test
}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Conditions of rules against one packet.
#include "plugins/iptables/packet_rules.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

namespace sluice::iptables {
namespace packet_rules_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;

abi::Address address(const std::string& text) { return *sdk::parse_address(text, kV4); }

inspection::Packet from_outside() {
  return {.family = kV4,
          .client = address("203.0.113.2"),
          .address = address("172.30.0.41"),
          .port = 80,
          .protocol = abi::Protocol::kTcp};
}

class PacketRulesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PacketRulesTest);
  CPPUNIT_TEST(conditions_are_compared);
  CPPUNIT_TEST(a_process_and_a_pod_differ);
  CPPUNIT_TEST(a_translated_packet_may_have_several_destinations);
  CPPUNIT_TEST(rules_that_cannot_match_are_not_kept);
  CPPUNIT_TEST_SUITE_END();

  MatchFacts facts_{0x4000, {"-i cni+", "! -i cni+"}, {address("192.168.0.2")}};

  void expect(const TracedPacket& packet, const std::string& expected, const char* rule) {
    netfilter::RuleReader reader(kV4);
    static constexpr const char* kNames[] = {"no", "maybe", "yes"};
    const Matches matches = match(reader.read(rule), packet, facts_);
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rule, expected, std::string(kNames[static_cast<std::size_t>(matches)]));
  }

  void conditions_are_compared() {
    const struct {
      const char* matches;
      const char* rule;
    } kRules[] = {
        {"yes", "-j A"},
        {"yes", "-d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j A"},
        {"no", "-d 172.30.0.42/32 -p tcp -m tcp --dport 80 -j A"},
        {"no", "-d 172.30.0.41/32 -p udp -m udp --dport 80 -j A"},
        {"no", "-d 172.30.0.41/32 -p tcp -m tcp --dport 81 -j A"},
        {"yes", "! -d 127.0.0.0/8 -j A"},
        {"no", "! -d 172.30.0.0/16 -j A"},
        {"yes", "-s 203.0.113.0/25 -j A"},
        {"no", "! -s 203.0.113.0/25 -j A"},
        {"no", "-s 10.0.0.0/8 -j A"},
        {"no", "-i cni+ -j A"},
        {"yes", "! -i cni+ -j A"},
        {"maybe", "-i eth0 -j A"},
        {"maybe", "! -i eth0 -j A"},
        {"no", "-m addrtype --dst-type LOCAL -j A"},
        {"yes", "-m addrtype ! --dst-type LOCAL -j A"},
        {"no", "-m addrtype --src-type LOCAL -j A"},
        {"yes", "-m conntrack --ctstate NEW -j A"},
        {"yes", "-m conntrack --ctstate NEW,RELATED -j A"},
        {"no", "-m conntrack --ctstate RELATED,ESTABLISHED -j A"},
        {"yes", "-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j A"},
        {"yes", "-m conntrack ! --ctstate DNAT -j A"},
        {"no", "-m mark --mark 0x4000/0x4000 -j A"},
        {"yes", "-m mark ! --mark 0x4000/0x4000 -j A"},
        {"maybe", "-m mark --mark 0x8000/0x8000 -j A"},
        {"maybe", "-m mark ! --mark 0x8000/0x8000 -j A"},
        {"maybe", "-m set --match-set A dst -j A"},
        {"no", "-p udp -m set --match-set A dst -j A"},
        {"maybe", "-o eth0 -j A"},
        {"maybe", "-m statistic --mode random --probability 0.5 -j A"},
        {"yes", "-m recent --set --name A --rsource -j A"},
    };
    for (const auto& one : kRules) expect(TracedPacket(from_outside()), one.matches, one.rule);
  }

  void a_process_and_a_pod_differ() {
    inspection::Packet process = from_outside();
    process.client = address("192.168.0.9");
    process.of_node = true;
    process.address = address("192.168.0.2");
    expect(TracedPacket(process), "no", "-i cni+ -j A");
    expect(TracedPacket(process), "no", "-i eth0 -j A");
    expect(TracedPacket(process), "yes", "! -i eth0 -j A");
    expect(TracedPacket(process), "yes", "-m addrtype --src-type LOCAL -j A");
    expect(TracedPacket(process), "yes", "-m addrtype --dst-type LOCAL -j A");
    process.address = address("127.0.0.1");
    expect(TracedPacket(process), "yes", "-m addrtype --dst-type LOCAL -j A");
    inspection::Packet pod = from_outside();
    pod.of_pod = true;
    expect(TracedPacket(pod), "yes", "-i cni+ -j A");
    expect(TracedPacket(pod), "no", "! -i cni+ -j A");
  }

  void a_translated_packet_may_have_several_destinations() {
    TracedPacket packet(from_outside());
    packet.translated = packet.marked = true;
    packet.destinations = {{address("10.180.0.1"), 80}, {address("10.180.2.1"), 8080}};
    expect(packet, "maybe", "-d 10.180.0.1 -j A");
    expect(packet, "maybe", "! -d 10.180.0.1 -j A");
    expect(packet, "yes", "-d 10.180.0.0/16 -j A");
    expect(packet, "no", "! -d 10.180.0.0/16 -j A");
    expect(packet, "no", "-d 172.30.0.41 -j A");
    expect(packet, "maybe", "-p tcp -m tcp --dport 80 -j A");
    expect(packet, "no", "-m conntrack ! --ctstate DNAT -j A");
    expect(packet, "yes", "-m conntrack --ctstate DNAT -j A");
    expect(packet, "yes", "-m mark --mark 0x4000/0x4000 -j A");
    expect(packet, "no", "-m mark ! --mark 0x4000/0x4000 -j A");
  }

  void rules_that_cannot_match_are_not_kept() {
    const TracedPacket packet(from_outside());
    PacketRules rules(packet, facts_);
    rules.append(
        "*raw\n:PREROUTING DROP [0:0]\n-A PREROUTING -j ACCEPT\nCOMMIT\n"
        "*filter\n:FORWARD DROP [3:180]\n[1:60] -A FORWARD -d 10.0.0.1/32 -j DROP\nCOMMIT\n"
        "*nat\n:KUBE-SERVICES - [0:0]\n[7:420] -A KUBE-SERVICES -d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j A\n"
        "-A KUBE-SERVICES -d 172.30.0.42/32 -p tcp -m tcp --dport 80 -j A\n-A FOREIGN -d 10.0.0.1/32 -j A\nCOMMIT\n");
    rules.finish();
    CPPUNIT_ASSERT(rules.find(Table::kNat, "PREROUTING") == nullptr);
    const auto* const forward = rules.find(Table::kFilter, "FORWARD");
    CPPUNIT_ASSERT(forward->drops && forward->counts->packets == 3 && forward->rules.size() == 1);
    const auto* const services = rules.find(Table::kNat, "KUBE-SERVICES");
    CPPUNIT_ASSERT(!services->drops && services->count == 2 && services->rules.size() == 1);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{420}, services->rules[0].counts->bytes);
    CPPUNIT_ASSERT(!rules.find(Table::kNat, "FOREIGN")->rules[0].counts);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PacketRulesTest);

}  // namespace packet_rules_test
}  // namespace sluice::iptables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decoding of rules that iptables-save prints.
#include "plugins/common/netfilter/rule_reader.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "sluice/sdk/address.hpp"

namespace sluice::netfilter {
namespace rule_reader_test {

using F = RuleFields;

class RuleReaderTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RuleReaderTest);
  CPPUNIT_TEST(conditions_are_distinguished);
  CPPUNIT_TEST(values_are_decoded);
  CPPUNIT_TEST(unknown_options_are_conditions);
  CPPUNIT_TEST(prefixes_and_ports_are_checked);
  CPPUNIT_TEST_SUITE_END();

  void conditions_are_distinguished() {
    const struct {
      const char* rule;
      std::uint32_t conditions;
    } kRules[] = {
        {"-j KUBE-SVC-A", 0},
        {R"(-p tcp -m comment --comment "-s 1.2.3.4 -j A" -m tcp -j DNAT --to-destination 10.180.0.1:80)", 0},
        {"-m comment --comment -x -j A", 0},
        {"-m nfacct --nfacct-name localhost_nps_accepted_pkts -j A", 0},
        {"-m recent --set --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j A", 0},
        {"-d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j A", F::kDestination | F::kPort},
        {"! -s 10.0.0.0/8 -d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j A", F::kSource | F::kDestination | F::kPort},
        {"! -i cni+ -p udp -m udp --dport 53 -j A", F::kInterface | F::kPort},
        {"-m addrtype --src-type LOCAL -j A", F::kSourceLocal},
        {"! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j A", F::kDestinationLocal | F::kDestination},
        {"-m conntrack --ctstate NEW -j A", F::kNew},
        {"-m state --state NEW -j A", F::kNew},
        {"-m conntrack ! --ctstate DNAT -j A", F::kNotTranslated},
        {"-m conntrack --ctstate NEW -m mark ! --mark 0x1000/0x00001000 -j A", F::kNew | F::kUnmarked},
        {"-m mark --mark 0x4000/0x4000 -m mark ! --mark 0x1/0x1 -j A", F::kMarked | F::kUnmarked},
        {"-m conntrack --ctstate NEW,RELATED -j A", F::kStates},
        {"-m conntrack ! --ctstate NEW -j A", F::kStates},
        {"-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j A", F::kNotFromBridgePort | F::kSourceLocal},
        {"-m recent --rcheck --seconds 60 --reap --name A --mask 255.255.255.255 --rsource -j A", F::kRemembered},
        {"-m statistic --mode random --probability 0.33333333349 -j A", F::kProbability},
        {"-m set --match-set KUBE-CLUSTER-IP dst,dst -j A", F::kSet},
        {"-s 1.2.3.4/32 -m ipvs --vproto 6 --vaddr 1.2.3.4 --vport 80 -j DROP", F::kSource | F::kVirtual},
        {"-j REJECT --reject-with icmp-port-unreachable", 0},
    };
    RuleReader reader(abi::Family::kIpv4);
    for (const auto& one : kRules)
      CPPUNIT_ASSERT_EQUAL_MESSAGE(one.rule, one.conditions, reader.read(one.rule).conditions());
  }

  void values_are_decoded() {
    RuleReader reader(abi::Family::kIpv4);
    const F& front = reader.read(
        R"(! -s 10.0.0.0/8 -d 172.30.0.41/32 -p udp -m comment --comment "ns1/svc1:p80 \"x\"" -m udp --dport 53 -j KUBE-A)");
    CPPUNIT_ASSERT(front.source->negated && front.source->prefix.length == 8 && !front.destination->negated);
    CPPUNIT_ASSERT(front.destination->prefix.address == *sdk::parse_address("172.30.0.41", abi::Family::kIpv4));
    CPPUNIT_ASSERT(front.protocol == abi::Protocol::kUdp && front.port == 53);
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc1:p80 \"x\""), std::string(front.comment));
    CPPUNIT_ASSERT_EQUAL(std::string("KUBE-A"), std::string(front.target));
    CPPUNIT_ASSERT(!front.is_for_address());
    CPPUNIT_ASSERT(reader.read("-m sctp -p 132 --dport 1 --destination 1.2.3.4 -j A").is_for_address());
    CPPUNIT_ASSERT(!reader.read("-p tcp -d 1.2.3.0/24 --dport 1 -j A").is_for_address());
    CPPUNIT_ASSERT(!reader.read("-p tcp ! -d 1.2.3.4 --dport 1 -j A").is_for_address());
    CPPUNIT_ASSERT(!reader.read("-d 1.2.3.4 --dport 1 -j A").is_for_address());

    const F& recent =
        reader.read("-m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-A --rsource -j KUBE-SEP-A");
    CPPUNIT_ASSERT(recent.recent == F::Recent::kChecks && recent.seconds == 10800 && recent.list == recent.target);
    CPPUNIT_ASSERT_DOUBLES_EQUAL(
        0.5, *reader.read("-m statistic --mode random --probability 0.50000000000").probability, 1e-9);
    CPPUNIT_ASSERT_EQUAL(std::string("34567"), std::string(reader.read("-j REDIRECT --to-ports 34567").translate_to));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.1:80"),
                         std::string(reader.read("-j DNAT --to-destination 10.0.0.1:80 --random").translate_to));
    const F& state = reader.read("-m conntrack ! --ctstate RELATED,DNAT -m mark --mark 0x4000/0x4000 -j ACCEPT");
    CPPUNIT_ASSERT(state.states == "RELATED,DNAT" && state.not_states && state.marked == 0x4000 && state.unmarked == 0);
    const F& set = reader.read("-m set --match-set KUBE-LOOP-BACK dst,dst,src -j MASQUERADE");
    CPPUNIT_ASSERT(set.set == "KUBE-LOOP-BACK" && set.set_directions == "dst,dst,src");
    RuleReader reader6(abi::Family::kIpv6);
    CPPUNIT_ASSERT(reader6.read("-d fd00::1/128 -p tcp -m tcp --dport 80 -j A").is_for_address());
    CPPUNIT_ASSERT(!reader6.read("-d fd00::/32 -p tcp -m tcp --dport 80 -j A").is_for_address());
  }

  void unknown_options_are_conditions() {
    RuleReader reader(abi::Family::kIpv4);
    for (const char* const rule : {"-m mark --mark 0x1 -j A",
                                   "-m mark --mark 0x1/0x3 -j A",
                                   "-m mark ! --mark 0x1 -j A",
                                   "-m mark ! --mark 0x1/0x3 -j A",
                                   "-m mark ! --mark 0x0/0x0 -j A",
                                   "-m mark ! --mark 1/1 -j A",
                                   "-m mark ! --mark 0x/0x -j A",
                                   "-m mark ! --mark 0x100000000/0x100000000 -j A",
                                   "-m mark ! --mark 0x1/0x1 -m mark ! --mark 0x2/0x2 -j A",
                                   "-m tcp --sport 80 -j A",
                                   "-m tcp ! --dport 80 -j A",
                                   "-m string --algo bm -j A",
                                   "-d fd00::1/128 -j A",
                                   "-d 1.2.3.4/255.0.255.0 -j A",
                                   "-p icmp -j A",
                                   "! -p tcp -j A",
                                   "-o eth0 -j A",
                                   "-g A",
                                   "-m conntrack --ctstate RELATED -m state ! --state DNAT,NEW -j A",
                                   "-m addrtype --src-type BROADCAST",
                                   "-m set ! --match-set A dst -j A",
                                   "-m set --match-set A dst -m set --match-set B dst -j A",
                                   "word",
                                   "\"",
                                   "-m recent --rcheck --seconds x --name A -j A",
                                   "-m statistic --mode nth --every 2 -j A",
                                   "-m statistic --mode random --probability 2 -j A",
                                   "-m statistic --mode random ! --probability 0.5 -j A",
                                   "--dport 99999 -j A",
                                   "-m recent --update --name A -j A",
                                   "-m physdev --physdev-is-in -j A"}) {
      CPPUNIT_ASSERT_MESSAGE(rule, (reader.read(rule).conditions() & F::kOther) != 0);
    }
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{0}, reader.read("").conditions());
  }

  void prefixes_and_ports_are_checked() {
    constexpr abi::Family kV4 = abi::Family::kIpv4;
    CPPUNIT_ASSERT(parse_prefix("10.1.2.3/8", kV4)->address == *sdk::parse_address("10.0.0.0", kV4));
    CPPUNIT_ASSERT(parse_prefix("10.1.2.3", kV4)->length == 32);
    for (const char* const text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/8x", "10.0.0/8", "fd00::/8"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !parse_prefix(text, kV4));
    }
    CPPUNIT_ASSERT(parse_host_port("10.0.0.1:80", kV4)->port == 80);
    CPPUNIT_ASSERT(parse_host_port("[fd00::1]:80", abi::Family::kIpv6)->port == 80);
    for (const char* const text :
         {"", ":", "10.0.0.1", "10.0.0.1:", "10.0.0.1:70000", "10.0.0.1:80-90", "[fd00::1]:80"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !parse_host_port(text, kV4));
    }
    for (const char* const text : {"fd00::1:80", "[fd00::1:80", "fd00::1]:80", "[]:80", "]:80"}) {
      CPPUNIT_ASSERT_MESSAGE(text, !parse_host_port(text, abi::Family::kIpv6));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RuleReaderTest);

}  // namespace rule_reader_test
}  // namespace sluice::netfilter

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Checks the tracer itself with handwritten rules.
#include "test/unit/common/tracer.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <stdexcept>
#include <string>

namespace sluice::test {
namespace tracer_test {

TableRules empty_tables() {
  return {{"filter", {{"INPUT", {}}, {"FORWARD", {}}, {"OUTPUT", {}}}},
          {"nat", {{"PREROUTING", {}}, {"INPUT", {}}, {"OUTPUT", {}}, {"POSTROUTING", {}}}}};
}

class TracerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(TracerTest);
  CPPUNIT_TEST(packets_pass_without_rules);
  CPPUNIT_TEST(hooks_depend_on_source_and_destination);
  CPPUNIT_TEST(all_matches_must_hold);
  CPPUNIT_TEST(negation_inverts_one_match);
  CPPUNIT_TEST(chains_return_to_the_caller);
  CPPUNIT_TEST(translation_applies_to_later_tables);
  CPPUNIT_TEST(redirection_is_to_this_node);
  CPPUNIT_TEST(marks_are_set_and_cleared);
  CPPUNIT_TEST(probabilities_split_the_path);
  CPPUNIT_TEST(clients_in_recent_lists_match);
  CPPUNIT_TEST(interfaces_match_whole_or_by_prefix);
  CPPUNIT_TEST(unknown_options_are_errors);
  CPPUNIT_TEST_SUITE_END();

  static std::string outcome(const TableRules& tables, const Packet& packet) {
    return Tracer(tables, {"192.168.0.2"}).outcomes(packet);
  }
  static Packet to(const std::string& destination) { return {"203.0.113.2", destination}; }

  void packets_pass_without_rules() {
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(empty_tables(), to("10.0.0.1")));
  }

  void hooks_depend_on_source_and_destination() {
    TableRules tables = empty_tables();
    tables["filter"]["INPUT"] = {"-j DROP"};
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), outcome(tables, to("192.168.0.2")));
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, to("10.0.0.1")));
    tables["filter"]["FORWARD"] = {"-j REJECT"};
    CPPUNIT_ASSERT_EQUAL(std::string("REJ"), outcome(tables, to("10.0.0.1")));
    Packet own = to("10.0.0.1");
    own.interface = "";
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, own));
    tables["filter"]["OUTPUT"] = {"-j DROP"};
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), outcome(tables, own));
  }

  void all_matches_must_hold() {
    TableRules tables = empty_tables();
    tables["filter"]["FORWARD"] = {"-m comment --comment \"a rule -j ACCEPT\" -m tcp -p tcp -s 203.0.113.0/25 "
                                   "-d 10.0.0.0/8 --dport 80 -m conntrack --ctstate NEW -j DROP"};
    Packet packet = to("10.9.9.9");
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), outcome(tables, packet));
    packet.port = 81;
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, packet));
    packet = to("11.0.0.1");
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, packet));
    packet = to("10.9.9.9");
    packet.source = "203.0.113.130";
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, packet));
    packet = to("10.9.9.9");
    packet.protocol = "udp";
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, packet));
  }

  void negation_inverts_one_match() {
    TableRules tables = empty_tables();
    tables["filter"]["FORWARD"] = {"! -s 203.0.113.2 -d 10.0.0.0/8 -j DROP", "-d 11.0.0.0/8 ! -s 10.0.0.0/8 -j REJECT"};
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, to("10.0.0.1")));
    CPPUNIT_ASSERT_EQUAL(std::string("REJ"), outcome(tables, to("11.0.0.1")));
  }

  void chains_return_to_the_caller() {
    TableRules tables = empty_tables();
    tables["filter"]["FORWARD"] = {"-j A", "-j DROP"};
    tables["filter"]["A"] = {"-j B", "-d 10.0.0.1 -j RETURN", "-j REJECT"};
    tables["filter"]["B"] = {"-m comment --comment \"a rule without target\""};
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), outcome(tables, to("10.0.0.1")));
    CPPUNIT_ASSERT_EQUAL(std::string("REJ"), outcome(tables, to("10.0.0.2")));
  }

  void translation_applies_to_later_tables() {
    TableRules tables = empty_tables();
    tables["nat"]["PREROUTING"] = {"-m tcp -p tcp -d 10.0.0.1 --dport 80 -j DNAT --to-destination 10.1.1.1:8080",
                                   "-m tcp -p tcp -d fd00::1 --dport 80 -j DNAT --to-destination [fd00::9]:81"};
    tables["filter"]["FORWARD"] = {"-d 10.0.0.1 -j REJECT", "-m conntrack ! --ctstate DNAT -j DROP"};
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.1.1:8080"), outcome(tables, to("10.0.0.1")));
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), outcome(tables, to("10.0.0.2")));
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::9]:81"), outcome(tables, {"fd00::5", "fd00::1"}));
  }

  void redirection_is_to_this_node() {
    TableRules tables = empty_tables();
    tables["nat"]["PREROUTING"] = {"-p tcp -m physdev ! --physdev-is-in -j REDIRECT --to-ports 34567"};
    tables["filter"]["INPUT"] = {"-p tcp --dport 34567 -m state --state NEW -j ACCEPT", "-j DROP"};
    tables["filter"]["FORWARD"] = {"-j REJECT"};
    CPPUNIT_ASSERT_EQUAL(std::string(":34567"), outcome(tables, to("10.0.0.1")));
    CPPUNIT_ASSERT_EQUAL(std::string(":34567"), outcome(tables, {"fd00::5", "fd00::1"}));
    Packet bridged = to("10.0.0.1");
    bridged.from_bridge_port = true;
    CPPUNIT_ASSERT_EQUAL(std::string("REJ"), outcome(tables, bridged));
  }

  void marks_are_set_and_cleared() {
    TableRules tables = empty_tables();
    tables["nat"]["PREROUTING"] = {"-d 10.0.0.1 -j MARK --or-mark 0x4000",
                                   "-d 10.0.0.2 -j MARK --or-mark 0x4000", "-d 10.0.0.2 -j MARK --xor-mark 0x4000",
                                   "-p tcp -j DNAT --to-destination 10.1.1.1:80"};
    tables["nat"]["POSTROUTING"] = {"-m mark ! --mark 0x4000/0x4000 -j RETURN", "-j MASQUERADE --random-fully"};
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.1.1:80*"), outcome(tables, to("10.0.0.1")));
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.1.1:80"), outcome(tables, to("10.0.0.2")));
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.1.1:80"), outcome(tables, to("10.0.0.3")));
  }

  void probabilities_split_the_path() {
    TableRules tables = empty_tables();
    tables["nat"]["PREROUTING"] = {
        "-m statistic --mode random --probability 0.25 -p tcp -j DNAT --to-destination 10.1.1.1:80",
        "-m statistic --mode random --probability 0.5 -p tcp -j DNAT --to-destination 10.1.1.2:80",
        "-p tcp -j DNAT --to-destination 10.1.1.3:80"};
    const auto found = Tracer(tables, {}).trace(to("10.0.0.1"));
    CPPUNIT_ASSERT_DOUBLES_EQUAL(0.25, found.at("10.1.1.1:80"), 1e-9);
    CPPUNIT_ASSERT_DOUBLES_EQUAL(0.375, found.at("10.1.1.2:80"), 1e-9);
    CPPUNIT_ASSERT_DOUBLES_EQUAL(0.375, found.at("10.1.1.3:80"), 1e-9);
  }

  void clients_in_recent_lists_match() {
    TableRules tables = empty_tables();
    tables["nat"]["PREROUTING"] = {"-m recent --name LIST --rcheck --seconds 5 --reap -p tcp -j DNAT --to-destination "
                                   "10.1.1.1:80"};
    Tracer tracer(tables, {});
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), tracer.outcomes(to("10.0.0.1")));
    tracer.remember("LIST", "203.0.113.2");
    CPPUNIT_ASSERT_EQUAL(std::string("10.1.1.1:80"), tracer.outcomes(to("10.0.0.1")));
  }

  void interfaces_match_whole_or_by_prefix() {
    TableRules tables = empty_tables();
    tables["filter"]["FORWARD"] = {"-i cni+ -j DROP", "-i cbr0 -j REJECT"};
    Packet packet = to("10.0.0.1");
    CPPUNIT_ASSERT_EQUAL(std::string("PASS"), outcome(tables, packet));
    packet.interface = "cni7";
    CPPUNIT_ASSERT_EQUAL(std::string("DROP"), outcome(tables, packet));
    packet.interface = "cbr0";
    CPPUNIT_ASSERT_EQUAL(std::string("REJ"), outcome(tables, packet));
  }

  void unknown_options_are_errors() {
    TableRules tables = empty_tables();
    tables["filter"]["FORWARD"] = {"-m length --length 0:10 -j DROP"};
    CPPUNIT_ASSERT_THROW(outcome(tables, to("10.0.0.1")), std::invalid_argument);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(TracerTest);

}  // namespace tracer_test
}  // namespace sluice::test

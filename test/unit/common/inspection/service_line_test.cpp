// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The form of the lines that all backends print.
#include "plugins/common/inspection/service_line.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "plugins/common/netfilter/rule_reader.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::inspection {
namespace service_line_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;

class ServiceLineTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ServiceLineTest);
  CPPUNIT_TEST(parts_are_printed_in_order);
  CPPUNIT_TEST(without_targets_the_line_is_shorter);
  CPPUNIT_TEST(frontends_are_printed);
  CPPUNIT_TEST(lists_are_sorted_and_have_remarks);
  CPPUNIT_TEST(own_addresses_are_not_source_ranges);
  CPPUNIT_TEST(lines_are_sorted_and_filtered_by_name);
  CPPUNIT_TEST(number_of_unneeded_objects_is_limited);
  CPPUNIT_TEST_SUITE_END();

  struct Sink final : abi::StringSink {
    void add(abi::StringView text) noexcept override { found.emplace_back(sdk::text(text)); }
    std::vector<std::string> found;
  };
  static std::vector<std::string> delivered(Answer& answer) {
    Sink sink;
    answer.deliver(sink);
    return sink.found;
  }

  void parts_are_printed_in_order() {
    const ServiceLine line{"a/b:c",      ":30001/tcp", "192.0.2.7", 60,          true,
                           "1.1.1.1:80", "2.2.2.2:80", "dropped",   "10.0.0.0/8"};
    CPPUNIT_ASSERT_EQUAL(
        std::string(":30001/tcp at 192.0.2.7 sticky for 60 s masqueraded -> 1.1.1.1:80; from this node -> "
                    "2.2.2.2:80; else dropped; only for 10.0.0.0/8"),
        to_string(line));
  }

  void without_targets_the_line_is_shorter() {
    ServiceLine line;
    line.frontend = "1.2.3.4:80/tcp";
    line.otherwise = kRejected;
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.4:80/tcp -> rejected, no endpoints"), to_string(line));
    line.from_node = "2.2.2.2:80";
    line.otherwise = kDropped;
    CPPUNIT_ASSERT_EQUAL(
        std::string("1.2.3.4:80/tcp from this node -> 2.2.2.2:80; else dropped, no endpoints on this node"),
        to_string(line));
  }

  void frontends_are_printed() {
    const abi::Address four = *sdk::parse_address("172.30.0.41", kV4);
    const abi::Address six = *sdk::parse_address("fd00::1", abi::Family::kIpv6);
    const Place address{false, four, 80, abi::Protocol::kTcp};
    const Place node_port{true, {}, 30001, abi::Protocol::kSctp};
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80/tcp"), to_string(address, kV4));
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00::1]:53/udp"),
                         to_string(Place{false, six, 53, abi::Protocol::kUdp}, abi::Family::kIpv6));
    CPPUNIT_ASSERT_EQUAL(std::string(":30001/sctp"), to_string(node_port, kV4));
    CPPUNIT_ASSERT(address < node_port && !(node_port < address) && !(address < address));
  }

  void lists_are_sorted_and_have_remarks() {
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.10:80, 10.0.0.9:80"), sorted_list({"10.0.0.9:80", "10.0.0.10:80"}));
    CPPUNIT_ASSERT_EQUAL(std::string("no address"), addresses_text({}));
    CPPUNIT_ASSERT_EQUAL(std::string("a"), with_remarks("a", {}));
    CPPUNIT_ASSERT_EQUAL(std::string("a (b, c)"), with_remarks("a", {"b", "c"}));
  }

  void own_addresses_are_not_source_ranges() {
    const auto prefixes = [](const std::vector<std::string>& texts) {
      std::vector<abi::Prefix> all;
      for (const std::string& text : texts) all.push_back(*netfilter::parse_prefix(text, kV4));
      return all;
    };
    const auto address = [](const char* text) { return *sdk::parse_address(text, kV4); };
    const auto left = [&](const std::vector<std::string>& sources, const std::vector<abi::Address>& balancer) {
      std::string text;
      for (const abi::Prefix& one : without_own_addresses(prefixes(sources), balancer, address("192.168.0.2"), kV4)) {
        text += (text.empty() ? "" : " ") + sdk::to_string(one, kV4);
      }
      return text;
    };
    const abi::Address vip = address("1.2.3.4");
    const std::string range = "192.168.0.0/24";
    CPPUNIT_ASSERT_EQUAL(range, left({range, "1.2.3.4"}, {vip}));
    CPPUNIT_ASSERT_EQUAL(range, left({range, "1.2.3.4", "1.2.3.5"}, {address("1.2.3.5"), vip}));
    // It is a configured range if it is listed twice, if no range contains the node, or if it is another address.
    CPPUNIT_ASSERT_EQUAL(range + " 1.2.3.4/32", left({range, "1.2.3.4", "1.2.3.4"}, {vip}));
    CPPUNIT_ASSERT_EQUAL(std::string("10.0.0.0/8 1.2.3.4/32"), left({"10.0.0.0/8", "1.2.3.4"}, {vip}));
    CPPUNIT_ASSERT_EQUAL(range + " 1.2.3.9/32", left({range, "1.2.3.9"}, {vip}));
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.4/32"), left({"1.2.3.4"}, {vip}));
    CPPUNIT_ASSERT_EQUAL(std::string(), left({}, {vip}));
  }

  static ServiceLine named(const std::string& name, const std::string& frontend = "1.2.3.4:80/tcp") {
    ServiceLine line;
    line.service_port = name;
    line.frontend = frontend;
    line.targets = "x";
    return line;
  }

  void lines_are_sorted_and_filtered_by_name() {
    Answer all("");
    all.add(named("b/b", "2"));
    all.add(named("", "4"));
    all.add(named("b/b", "1"));
    all.add(named("a/a:p", "3"));
    CPPUNIT_ASSERT((std::vector<std::string>{"a/a:p 3 -> x", "b/b 2 -> x", "b/b 1 -> x",
                                             "not wanted by any Service: 4 -> x"}) == delivered(all));
    for (const char* const name : {"a/a", "a/a:p"}) {
      Answer one(name);
      for (const char* const other : {"a/a:p", "a/a2:p", "a/a:p2", "a/a-b", ""}) one.add(named(other));
      one.add_not_wanted("chain");
      CPPUNIT_ASSERT_EQUAL(std::string("a/a:p 1.2.3.4:80/tcp -> x"), delivered(one).front());
      CPPUNIT_ASSERT_EQUAL(std::size_t{std::string(name) == "a/a" ? 2u : 1u}, delivered(one).size());
    }
  }

  void number_of_unneeded_objects_is_limited() {
    Answer all("");
    for (std::size_t i = 0; i < Answer::kMostNotWanted + 7; ++i) all.add_not_wanted("rule");
    const std::vector<std::string> found = delivered(all);
    CPPUNIT_ASSERT_EQUAL(Answer::kMostNotWanted + 1, found.size());
    CPPUNIT_ASSERT_EQUAL(std::string("not wanted by any Service: 7 more objects"), found.back());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServiceLineTest);

}  // namespace service_line_test
}  // namespace sluice::inspection

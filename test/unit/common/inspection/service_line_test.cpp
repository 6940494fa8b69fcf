// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The form of the lines that all backends print.
#include "plugins/common/inspection/service_line.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plugins/common/netfilter/rule_reader.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/inspection.hpp"
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
  CPPUNIT_TEST(rows_have_the_values_of_lines);
  CPPUNIT_TEST(own_addresses_are_not_source_ranges);
  CPPUNIT_TEST(lines_are_sorted_and_filtered_by_name);
  CPPUNIT_TEST(rows_come_in_the_same_order_until_there_are_enough);
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

  static Target target(const std::string& address, Remarks remarks = {}) {
    return {*sdk::parse_address(address, kV4), 80, {}, std::move(remarks)};
  }
  static std::string text(const ServiceLine& line) { return Row(line, kV4).text(); }
  static ServiceLine named(const std::string& name, std::uint16_t port = 80) {
    ServiceLine line;
    line.service_port = name;
    line.place = {false, *sdk::parse_address("1.2.3.4", kV4), port, abi::Protocol::kTcp};
    line.targets.instead = "x";
    return line;
  }

  void parts_are_printed_in_order() {
    ServiceLine line = named("a/b:c");
    line.place = {true, {}, 30001, abi::Protocol::kTcp};
    line.addresses.add(*sdk::parse_address("192.0.2.7", kV4), kV4);
    line.sticky_seconds = 60;
    line.masqueraded = true;
    line.targets = {{target("1.1.1.1")}};
    line.from_node = {{target("2.2.2.2")}};
    line.otherwise = {abi::kInspectedDropped, "dropped"};
    line.only_for = {true, {*netfilter::parse_prefix("10.0.0.0/8", kV4), *netfilter::parse_prefix("9.0.0.0/8", kV4)}};
    const std::string parts = "a/b:c :30001/tcp at 192.0.2.7 sticky for 60 s masqueraded -> 1.1.1.1:80; from this node -> "
                              "2.2.2.2:80; else dropped; only for 10.0.0.0/8, 9.0.0.0/8";
    CPPUNIT_ASSERT_EQUAL(parts, text(line));
    line.addresses.every = true;
    CPPUNIT_ASSERT(text(line).find(" at every address of this node sticky") != std::string::npos);
  }

  void without_targets_the_line_is_shorter() {
    ServiceLine line = named("a/b");
    line.targets = {};
    line.otherwise = rejected();
    CPPUNIT_ASSERT_EQUAL(std::string("a/b 1.2.3.4:80/tcp -> rejected, no endpoints"), text(line));
    line.from_node = {{target("2.2.2.2")}};
    line.otherwise = dropped({"no jump"});
    CPPUNIT_ASSERT_EQUAL(std::string("a/b 1.2.3.4:80/tcp from this node -> 2.2.2.2:80; else dropped, no endpoints on "
                                     "this node (no jump)"),
                         text(line));
  }

  // The remarks about the frontend follow those of the first list.
  void lists_are_sorted_and_have_remarks() {
    ServiceLine line = named("a/b");
    line.targets = {{target("10.0.0.9", {"drains"}), target("10.0.0.10"), {{}, 0, "KUBE-SEP-X", {"chain is empty"}}},
                    {},
                    {"3 % reach no endpoint"}};
    line.from_node = nowhere({"chain is missing", "not for pods"});
    line.remarks = {"no jump", "no mark"};
    CPPUNIT_ASSERT_EQUAL(std::string("a/b 1.2.3.4:80/tcp -> 10.0.0.10:80, 10.0.0.9:80 (drains), KUBE-SEP-X (chain is "
                                     "empty) (3 % reach no endpoint) (no jump, no mark); from this node -> nowhere "
                                     "(chain is missing, not for pods)"),
                         text(line));
    line = named("a/b");
    line.place = {true, {}, 30001, abi::Protocol::kSctp};
    line.only_for = {true, {}, "no source", {"not dropped"}};
    CPPUNIT_ASSERT_EQUAL(std::string("a/b :30001/sctp at no address -> x; only for no source (not dropped)"), text(line));
  }

  void rows_have_the_values_of_lines() {
    ServiceLine line = named("shop/cart:http");
    line.targets = {{target("10.0.0.9", {"drains", "late"}), {{}, 0, "KUBE-SEP-X"}}};
    line.targets.list[0].draining = true;
    line.sticky_seconds = 30;
    line.masqueraded = true;
    line.only_for = {true, {*netfilter::parse_prefix("10.0.0.0/8", kV4)}, "no source"};
    const Row row(line, kV4);
    const abi::InspectedFrontend& made = row.get();
    CPPUNIT_ASSERT_EQUAL(std::string("shop/cart:http/tcp"), sdk::service_port_id(made.key));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{abi::kInspectedMasqueraded | abi::kInspectedRestricted}, made.flags);
    CPPUNIT_ASSERT_EQUAL(std::string("1.2.3.4:80/tcp"), sdk::frontend_text(made, kV4));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{30}, made.affinity_seconds);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, made.source_ranges.count);
    const auto targets = sdk::range<abi::InspectedTarget>(made.targets.targets);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, targets.size());
    CPPUNIT_ASSERT_EQUAL(std::string("drains, late"), std::string(sdk::text(targets[0].remarks)));
    CPPUNIT_ASSERT(sdk::has(targets[0], abi::kTargetDraining) && !sdk::has(targets[0], abi::kTargetUnknown));
    CPPUNIT_ASSERT(sdk::has(targets[1], abi::kTargetUnknown));
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

  void lines_are_sorted_and_filtered_by_name() {
    Answer all("", kV4);
    all.add(named("b/b", 2));
    all.add(named("", 4));
    all.add(named("b/b", 1));
    all.add(named("a/a:p", 3));
    CPPUNIT_ASSERT((std::vector<std::string>{"a/a:p 1.2.3.4:3/tcp -> x", "b/b 1.2.3.4:2/tcp -> x", "b/b 1.2.3.4:1/tcp -> x",
                                             "not wanted by any Service: 1.2.3.4:4/tcp -> x"}) == delivered(all));
    for (const char* const name : {"a/a", "a/a:p"}) {
      Answer one(name, kV4);
      for (const char* const other : {"a/a:p", "a/a2:p", "a/a:p2", "a/a-b", ""}) one.add(named(other));
      one.add_not_wanted("chain");
      CPPUNIT_ASSERT_EQUAL(std::string("a/a:p 1.2.3.4:80/tcp -> x"), delivered(one).front());
      CPPUNIT_ASSERT_EQUAL(std::size_t{std::string(name) == "a/a" ? 2u : 1u}, delivered(one).size());
    }
  }

  struct Rows final : abi::InspectionSink {
    explicit Rows(std::size_t most) : most_(most) {}
    std::int32_t add(abi::ArrayView rows) noexcept override {
      for (const auto& row : sdk::range<abi::InspectedFrontend>(rows)) found.push_back(sdk::inspection_line(row, kV4));
      return found.size() < most_ ? 1 : 0;
    }
    std::vector<std::string> found;

   private:
    const std::size_t most_;
  };

  void rows_come_in_the_same_order_until_there_are_enough() {
    for (const std::size_t most : {2u, 100u}) {
      Answer answer("", kV4);
      for (const char* const name : {"b/b", "a/a", ""}) answer.add(named(name));
      answer.add_not_wanted("chain X");
      Rows rows(most);
      answer.deliver(rows);
      std::vector<std::string> lines = delivered(answer);
      lines.resize(std::min(most, lines.size()));
      CPPUNIT_ASSERT(lines == rows.found);
    }
  }

  void number_of_unneeded_objects_is_limited() {
    Answer all("", kV4);
    for (std::size_t i = 0; i < Answer::kMostNotWanted + 7; ++i) all.add_not_wanted("rule");
    const std::vector<std::string> found = delivered(all);
    CPPUNIT_ASSERT_EQUAL(Answer::kMostNotWanted + 1, found.size());
    CPPUNIT_ASSERT_EQUAL(std::string("not wanted by any Service: 7 more objects"), found.back());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ServiceLineTest);

}  // namespace service_line_test
}  // namespace sluice::inspection

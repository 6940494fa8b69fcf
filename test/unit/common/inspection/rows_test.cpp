// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/inspection/rows.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <functional>
#include <string>
#include <vector>

#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::inspection {
namespace rows_test {

constexpr abi::Family kV4 = abi::Family::kIpv4;

// Keeps what `print` makes of each row; wants at most `most` rows.
template <class Row>
struct Sink final : abi::InspectionSink {
  explicit Sink(std::function<std::string(const Row&)> print, std::size_t most = 10'000)
      : print(std::move(print)), most(most) {}
  std::int32_t add(abi::ArrayView rows) noexcept override {
    for (const Row& row : sdk::range<Row>(rows)) found.push_back(print(row));
    return found.size() < most ? 1 : 0;
  }
  std::function<std::string(const Row&)> print;
  std::size_t most;
  std::vector<std::string> found;
};

std::string printed(const abi::InspectedCounters& row) {
  return sdk::service_port_name(row.key) + "/" + std::string(sdk::protocol_name(row.key.protocol)) + " " +
         std::to_string(row.connections);
}
std::string printed(const abi::InspectedDrift& row) {
  return (row.key.service_name.size == 0 ? "-" : sdk::service_port_name(row.key)) + " " +
         std::to_string(static_cast<int>(row.kind)) + " " + std::to_string(row.count) + " " +
         std::string(sdk::text(row.object)) + " " + std::string(sdk::text(row.wanted)) + " " +
         std::string(sdk::text(row.found));
}
std::string printed(const abi::InspectedStep& row) {
  std::string out = std::string(sdk::text(row.object)) + ": " + std::string(sdk::text(row.effect));
  for (const auto& one : sdk::range<abi::InspectedTarget>(row.targets)) {
    out += " " + sdk::host_port(one.address, kV4, one.port) + "[" + std::string(sdk::text(one.remarks)) + "]";
  }
  return out + " (" + std::string(sdk::text(row.remarks)) + ") " + std::to_string(static_cast<int>(row.verdict)) + " " +
         std::to_string(row.flags) + " " + std::to_string(row.packets) + " " + std::to_string(row.bytes);
}

using Texts = std::vector<std::string>;

template <class Row, class Rows>
Texts delivered(Rows& rows, std::size_t most = 10'000) {
  Sink<Row> sink([](const Row& row) { return printed(row); }, most);
  rows.deliver(sink);
  return sink.found;
}

class RowsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RowsTest);
  CPPUNIT_TEST(names_select_a_service_or_a_port);
  CPPUNIT_TEST(counters_are_sorted_and_filtered_by_name);
  CPPUNIT_TEST(drift_without_service_port_comes_last);
  CPPUNIT_TEST(drift_is_bounded_and_counted_by_kind);
  CPPUNIT_TEST(steps_keep_their_order);
  CPPUNIT_TEST(rows_end_when_there_are_enough);
  CPPUNIT_TEST_SUITE_END();

  static abi::InspectedCounters counted(std::uint64_t connections) {
    abi::InspectedCounters row{};
    row.key.protocol = abi::Protocol::kUdp;
    row.connections = connections;
    return row;
  }
  static Explanation three_steps() {
    Explanation steps(Packet{.family = kV4});
    steps.add({.object = "chain a", .effect = "jumps", .masquerades = true});
    steps.add({.object = "chain b",
               .effect = "chooses",
               .remarks = {"x", "y"},
               .targets = {{*sdk::parse_address("10.0.0.1", kV4), 80, {}, {"gone"}}}});
    steps.add({.object = "chain c",
               .effect = "serves",
               .verdict = abi::InspectedVerdict::kServed,
               .counted = true,
               .packets = 7,
               .bytes = 420});
    return steps;
  }

 public:
  void names_select_a_service_or_a_port() {
    CPPUNIT_ASSERT(belongs_to("shop/cart:http", ""));
    CPPUNIT_ASSERT(belongs_to("shop/cart:http", "shop/cart"));
    CPPUNIT_ASSERT(belongs_to("shop/cart:http", "shop/cart:http"));
    CPPUNIT_ASSERT(!belongs_to("shop/cart2:http", "shop/cart"));
    CPPUNIT_ASSERT(!belongs_to("", "shop/cart"));
  }

  void counters_are_sorted_and_filtered_by_name() {
    CounterRows rows("shop/cart");
    rows.add("shop/cart:b", counted(1));
    rows.add("shop/cart:a", counted(3));
    rows.add("shop/other", counted(4));
    rows.add("shop/cart:a", counted(2));
    CPPUNIT_ASSERT(Texts({"shop/cart:a/udp 3", "shop/cart:a/udp 2", "shop/cart:b/udp 1"}) ==
                   delivered<abi::InspectedCounters>(rows));
  }

  void drift_without_service_port_comes_last() {
    DriftRows rows("");
    rows.add({.kind = abi::DriftKind::kDriftForeign, .object = "table x"});
    rows.add({.kind = abi::DriftKind::kDriftMissing, .object = "rule", .service_port = "shop/cart:a", .wanted = "w"});
    rows.add(
        {.kind = abi::DriftKind::kDriftChanged, .object = "set", .service_port = "a/b", .wanted = "w", .found = "f"});
    CPPUNIT_ASSERT(Texts({"a/b 2 1 set w f", "shop/cart:a 1 1 rule w ", "- 4 1 table x  "}) ==
                   delivered<abi::InspectedDrift>(rows));
    DriftRows of_one("a/b");
    of_one.add({.kind = abi::DriftKind::kDriftForeign, .object = "table x"});
    CPPUNIT_ASSERT(delivered<abi::InspectedDrift>(of_one).empty());
  }

  void drift_is_bounded_and_counted_by_kind() {
    DriftRows rows("");
    for (std::size_t i = 0; i < DriftRows::kMost + 3; ++i) {
      rows.add({.kind = i % 2 == 0 ? abi::DriftKind::kDriftMissing : abi::DriftKind::kDriftExtra, .object = "o"});
    }
    const Texts all = delivered<abi::InspectedDrift>(rows);
    CPPUNIT_ASSERT_EQUAL(DriftRows::kMost + 2, all.size());
    CPPUNIT_ASSERT_EQUAL(std::string("- 1 2 more objects  "), all[DriftRows::kMost]);
    CPPUNIT_ASSERT_EQUAL(std::string("- 3 1 more objects  "), all[DriftRows::kMost + 1]);
  }

  void steps_keep_their_order() {
    Explanation steps = three_steps();
    CPPUNIT_ASSERT(Texts({"chain a: jumps () 0 2 0 0", "chain b: chooses 10.0.0.1:80[gone] (x, y) 0 0 0 0",
                          "chain c: serves () 1 1 7 420"}) == delivered<abi::InspectedStep>(steps));
  }

  void rows_end_when_there_are_enough() {
    Explanation steps = three_steps();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, delivered<abi::InspectedStep>(steps, 2).size());
    CounterRows counters("");
    for (std::uint64_t i = 0; i < 3; ++i) counters.add("a/b", counted(i));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, delivered<abi::InspectedCounters>(counters, 1).size());
    DriftRows drift("");
    for (int i = 0; i < 3; ++i) drift.add({.kind = abi::DriftKind::kDriftExtra, .object = "o"});
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, delivered<abi::InspectedDrift>(drift, 1).size());
  }
};
CPPUNIT_TEST_SUITE_REGISTRATION(RowsTest);

}  // namespace rows_test
}  // namespace sluice::inspection

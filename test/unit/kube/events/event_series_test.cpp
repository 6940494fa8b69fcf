// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Requests for events: names, field limits, and series of repeated events (BEH 11.8).
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "core/kube/events/event_document.hpp"
#include "core/kube/events/event_series.hpp"

namespace sluice::kube {
namespace event_series_test {

using namespace std::chrono_literals;
using Wall = std::chrono::system_clock::time_point;

const Wall kWall{std::chrono::microseconds(1'795'214'400'000'042)};  // 2026-11-20T22:40:00.000042Z
const lib::Clock::Time kNow{1h};

ClusterEvent starting() {
  return {ClusterEvent::Type::normal, "Starting", "StartKubeProxy", "a note", Regarding::node("node-a")};
}

class EventSeriesTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(EventSeriesTest);
  CPPUNIT_TEST(a_node_event_is_posted_to_the_default_namespace);
  CPPUNIT_TEST(an_event_of_a_service_is_posted_to_its_namespace);
  CPPUNIT_TEST(fields_are_truncated_to_the_limits_of_the_server);
  CPPUNIT_TEST(long_object_names_are_truncated);
  CPPUNIT_TEST(the_second_event_makes_a_series_and_later_ones_are_counted);
  CPPUNIT_TEST(events_with_different_notes_are_separate);
  CPPUNIT_TEST(a_series_ends_after_a_time_without_events);
  CPPUNIT_TEST(a_series_that_was_never_written_starts_again);
  CPPUNIT_TEST(the_number_of_series_is_bounded);
  CPPUNIT_TEST_SUITE_END();

 public:
  void a_node_event_is_posted_to_the_default_namespace() {
    EventSeries series;
    const Request request = create_request(*series.note(starting(), kWall, kNow), "node-a");
    CPPUNIT_ASSERT_EQUAL(std::string("POST"), request.method);
    CPPUNIT_ASSERT_EQUAL(std::string("/apis/events.k8s.io/v1/namespaces/default/events"), request.target());
    CPPUNIT_ASSERT_EQUAL(
        std::string(R"({"apiVersion":"events.k8s.io/v1","kind":"Event",)"
                    R"("metadata":{"name":"node-a.18e9e1fc3fab2410","namespace":"default"},)"
                    R"("eventTime":"2026-11-20T22:40:00.000042Z","reportingController":"kube-proxy",)"
                    R"("reportingInstance":"kube-proxy-node-a","action":"StartKubeProxy","reason":"Starting",)"
                    R"("regarding":{"kind":"Node","name":"node-a","apiVersion":"v1"},"note":"a note","type":"Normal"})"),
        request.body);
  }

  void an_event_of_a_service_is_posted_to_its_namespace() {
    const ClusterEvent event{ClusterEvent::Type::warning, "R", "A", "\"\xff", Regarding::service("shop", "cart")};
    const EventWrite write{event, "cart.1", kWall, kWall + 1s, 7};
    const Request created = create_request(write, "n");
    CPPUNIT_ASSERT_EQUAL(std::string("/apis/events.k8s.io/v1/namespaces/shop/events"), created.path);
    CPPUNIT_ASSERT(created.body.find(R"("namespace":"shop"},"note")") != std::string::npos);
    CPPUNIT_ASSERT(created.body.find(R"("type":"Warning","series":{"count":7,)") != std::string::npos);
    const Request patch = series_request(write);
    CPPUNIT_ASSERT_EQUAL(std::string("PATCH"), patch.method);
    CPPUNIT_ASSERT_EQUAL(std::string("application/strategic-merge-patch+json"), patch.content_type);
    CPPUNIT_ASSERT_EQUAL(std::string("/apis/events.k8s.io/v1/namespaces/shop/events/cart.1"), patch.path);
    CPPUNIT_ASSERT_EQUAL(std::string(R"({"series":{"count":7,"lastObservedTime":"2026-11-20T22:40:01.000042Z"}})"),
                         patch.body);
  }

  void fields_are_truncated_to_the_limits_of_the_server() {
    CPPUNIT_ASSERT_EQUAL(std::string_view("ab"), cut_text("ab\xc3\xa4", 3));
    CPPUNIT_ASSERT_EQUAL(std::string_view("ab\xc3\xa4"), cut_text("ab\xc3\xa4", 4));
    ClusterEvent event = starting();
    event.reason = std::string(200, 'r');
    event.note = std::string(2000, 'n');
    const std::string body = create_request({event, "x", kWall, kWall}, std::string(200, 'i')).body;
    const auto holds = [&](const std::string& text) { return body.find(text) != std::string::npos; };
    CPPUNIT_ASSERT(holds('"' + std::string(128, 'r') + '"'));
    CPPUNIT_ASSERT(holds('"' + std::string(1024, 'n') + '"'));
    CPPUNIT_ASSERT(holds("\"kube-proxy-" + std::string(128 - 11, 'i') + '"'));
  }

  void long_object_names_are_truncated() {
    const std::string name = event_name(Regarding::node(std::string(235, 'a') + "." + std::string(17, 'b')), kWall);
    CPPUNIT_ASSERT_EQUAL(std::string(235, 'a') + ".18e9e1fc3fab2410", name);
  }

  void the_second_event_makes_a_series_and_later_ones_are_counted() {
    EventSeries series;
    const auto first = series.note(starting(), kWall, kNow);
    CPPUNIT_ASSERT_EQUAL(1u, first->count);
    const auto second = series.note(starting(), kWall + 1s, kNow + 1s);
    CPPUNIT_ASSERT_EQUAL(2u, second->count);
    CPPUNIT_ASSERT_EQUAL(first->name, second->name);
    CPPUNIT_ASSERT(second->last == kWall + 1s);
    for (int i = 0; i < 1000; ++i) CPPUNIT_ASSERT(!series.note(starting(), kWall + 2s, kNow + 2s));
    // Not before it is due, and then once.
    CPPUNIT_ASSERT(series.next_due() == kNow + 1s + EventSeries::kRefresh);
    CPPUNIT_ASSERT(series.due(series.next_due() - 1ns).empty());
    const auto due = series.due(series.next_due());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, due.size());
    CPPUNIT_ASSERT_EQUAL(1002u, due.front().count);
    CPPUNIT_ASSERT(series.due(kNow + EventSeries::kRefresh + 2s).empty());
  }

  void events_with_different_notes_are_separate() {
    EventSeries series;
    ClusterEvent other = starting();
    other.note = "another";
    const auto first = series.note(starting(), kWall, kNow);
    const auto second = series.note(other, kWall + 1ns, kNow);
    CPPUNIT_ASSERT_EQUAL(1u, second->count);
    CPPUNIT_ASSERT(first->name != second->name);
  }

  void a_series_ends_after_a_time_without_events() {
    EventSeries series;
    series.note(starting(), kWall, kNow);
    CPPUNIT_ASSERT(series.due(kNow + EventSeries::kWindow).empty());
    CPPUNIT_ASSERT(series.next_due() == lib::Clock::Time::max());
    series.note(starting(), kWall, kNow);
    // Also if due() was not called meanwhile.
    CPPUNIT_ASSERT_EQUAL(1u, series.note(starting(), kWall + 6min, kNow + EventSeries::kWindow)->count);
  }

  void a_series_that_was_never_written_starts_again() {
    EventSeries series;
    series.note(starting(), kWall, kNow);
    series.forget(starting());
    CPPUNIT_ASSERT_EQUAL(1u, series.note(starting(), kWall, kNow)->count);
  }

  void the_number_of_series_is_bounded() {
    EventSeries series;
    ClusterEvent event = starting();
    for (std::size_t i = 0; i <= EventSeries::kMost; ++i) {
      event.note = std::to_string(i);
      CPPUNIT_ASSERT_EQUAL(1u, series.note(event, kWall, kNow + std::chrono::nanoseconds(i))->count);
    }
    CPPUNIT_ASSERT_EQUAL(2u, series.note(event, kWall, kNow + 1s)->count);
    event.note = "0";  // the one that was dropped
    CPPUNIT_ASSERT_EQUAL(1u, series.note(event, kWall, kNow + 1s)->count);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(EventSeriesTest);

}  // namespace event_series_test
}  // namespace sluice::kube

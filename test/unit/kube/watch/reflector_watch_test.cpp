// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>

#include "test/unit/kube/watch/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_watch_test {

using namespace std::chrono_literals;
using test::ReflectorWorld;

lib::Status cut() { return {lib::StatusCode::unavailable, "the connection broke", ECONNRESET}; }

class ReflectorWatchTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorWatchTest);
  CPPUNIT_TEST(a_watch_starts_at_the_version_of_the_list);
  CPPUNIT_TEST(watch_timeouts_are_random_between_five_and_ten_minutes);
  CPPUNIT_TEST(events_are_delivered_in_order);
  CPPUNIT_TEST(a_watch_that_ends_is_resumed_from_the_last_version);
  CPPUNIT_TEST(bookmarks_advance_the_version);
  CPPUNIT_TEST(a_bookmark_with_an_earlier_version_lists_the_newest);
  CPPUNIT_TEST(an_object_that_a_proxy_no_longer_needs_is_removed);
  CPPUNIT_TEST(an_expired_watch_lists_again_quietly);
  CPPUNIT_TEST(repeated_expiry_backs_off);
  CPPUNIT_TEST(an_http_410_lists_again);
  CPPUNIT_TEST(a_429_event_resumes_after_a_while);
  CPPUNIT_TEST(a_500_event_lists_again_after_a_while);
  CPPUNIT_TEST(a_rejected_connection_does_not_list_again);
  CPPUNIT_TEST(a_429_response_does_not_list_again);
  CPPUNIT_TEST(a_500_response_lists_again);
  CPPUNIT_TEST(a_broken_watch_resumes_at_once);
  CPPUNIT_TEST(a_watch_that_times_out_is_reported_and_not_connected);
  CPPUNIT_TEST(a_watch_that_breaks_at_once_backs_off);
  CPPUNIT_TEST(a_very_short_watch_lists_again);
  CPPUNIT_TEST(a_short_watch_with_events_waits_and_resumes);
  CPPUNIT_TEST(events_of_unknown_type_are_skipped);
  CPPUNIT_TEST(events_about_other_kinds_are_skipped);
  CPPUNIT_TEST(malformed_text_lists_again);
  CPPUNIT_TEST(a_truncated_event_is_not_delivered);
  CPPUNIT_TEST(a_malformed_event_with_a_name_affects_one_object);
  CPPUNIT_TEST(an_oversized_event_affects_one_object);
  CPPUNIT_TEST(an_event_without_a_name_is_reported);
  CPPUNIT_TEST(events_about_other_kinds_are_logged_once);
  CPPUNIT_TEST(connected_means_a_running_watch);
  CPPUNIT_TEST_SUITE_END();

  // Responds to the next watch with these events, and does a step.
  static long watch(ReflectorWorld& world, const std::string& body, std::chrono::milliseconds lasts = 300s,
                    lib::Status end = {}) {
    world.transport.expect({.status = 200, .body = body, .end = std::move(end), .lasts = lasts});
    return world.step();
  }

  void a_watch_starts_at_the_version_of_the_list() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, ""));
    CPPUNIT_ASSERT_EQUAL(
        std::string("/api/v1/"
                    "services?labelSelector=%21service.kubernetes.io%2Fservice-proxy-name&fieldSelector=spec.clusterIP%"
                    "21%3DNone&watch=true&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds=300"),
        world.transport.last_asked());
  }

  void watch_timeouts_are_random_between_five_and_ten_minutes() {
    ReflectorWorld world;
    world.list_once();
    world.random = 0.999;
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("timeoutSeconds=599"));
  }

  void events_are_delivered_in_order() {
    ReflectorWorld world;
    world.list_once();
    watch(world, ReflectorWorld::event("ADDED", ReflectorWorld::object("b", "11")) +
                     ReflectorWorld::event("MODIFIED", ReflectorWorld::object("a", "12")) +
                     ReflectorWorld::event("DELETED", ReflectorWorld::object("b", "13")));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service demo/b, upsert Service demo/a, remove Service demo/b"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), world.reflector.status().events);
  }

  void a_watch_that_ends_is_resumed_from_the_last_version() {
    ReflectorWorld world;
    world.list_once();
    watch(world, ReflectorWorld::event("DELETED", ReflectorWorld::object("a", "17")));
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("resourceVersion=17"));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().lists);
  }

  void bookmarks_advance_the_version() {
    ReflectorWorld world;
    world.list_once();
    watch(world, ReflectorWorld::bookmark("90"));
    watch(world, ReflectorWorld::bookmark("90"));
    CPPUNIT_ASSERT(world.asked("resourceVersion=90"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), world.events.take_text());
  }

  void a_bookmark_with_an_earlier_version_lists_the_newest() {
    // A server restored from a backup would send nothing until it reaches the version of the watch.
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, ReflectorWorld::bookmark("4")));
    world.transport.expect_list(ReflectorWorld::list("5", ""));
    world.step();
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, end Service"), world.events.take_text());
  }

  void an_object_that_a_proxy_no_longer_needs_is_removed() {
    ReflectorWorld world(endpoint_slices_resource());
    world.transport.expect_list(R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"1"},"items":[]})");
    world.step();
    world.events.take();
    watch(world,
          ReflectorWorld::event("MODIFIED", R"({"metadata":{"name":"s","namespace":"demo"},"addressType":"IPv4"})"));
    CPPUNIT_ASSERT_EQUAL(std::string("remove EndpointSlice demo/s"), world.events.take_text());
  }

  void an_expired_watch_lists_again_quietly() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")), 0s));
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked("resourceVersion=10"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, end Service"), world.events.take_text());
    for (const auto& line : world.log.lines()) CPPUNIT_ASSERT_MESSAGE(line, line.starts_with("DEBUG"));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void repeated_expiry_backs_off() {
    ReflectorWorld world;
    world.list_once();
    const std::string expired = ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired"));
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, expired, 0s));
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    world.step();
    CPPUNIT_ASSERT_EQUAL(800L, watch(world, expired, 0s));
    // After a watch that works, the next one has no delay again.
    world.transport.expect_list(ReflectorWorld::list("40", ""));
    world.step();
    watch(world, "", 10s);
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, expired, 0s));
  }

  void an_http_410_lists_again() {
    ReflectorWorld world;
    world.list_once();
    world.transport.expect({.status = 410, .body = ReflectorWorld::status(410, "Gone")});
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().relists);
  }

  void a_429_event_resumes_after_a_while() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(
        5000L, watch(world, ReflectorWorld::event("ERROR", ReflectorWorld::status(429, "TooManyRequests", "m",
                                                                                  R"({"retryAfterSeconds":5})"))));
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10"));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().lists);
  }

  void a_500_event_lists_again_after_a_while() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(800L,
                         watch(world, ReflectorWorld::event("ERROR", ReflectorWorld::status(500, "InternalError"))));
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    world.step();
    CPPUNIT_ASSERT(!world.asked("watch="));
  }

  void a_rejected_connection_does_not_list_again() {
    ReflectorWorld world;
    world.list_once();
    for (const long delay : {800L, 1600L}) {
      world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
      CPPUNIT_ASSERT_EQUAL(delay, world.step());
    }
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10"));
  }

  void a_429_response_does_not_list_again() {
    ReflectorWorld world;
    world.list_once();
    for (const int code : {429, 401, 403, 502, 503}) {
      world.transport.expect({.status = code, .body = ""});
      CPPUNIT_ASSERT(world.step() > 0);
    }
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true"));
  }

  void a_500_response_lists_again() {
    ReflectorWorld world;
    world.list_once();
    world.transport.expect({.status = 500, .body = ""});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    world.step();
    CPPUNIT_ASSERT(!world.asked("watch="));
  }

  void a_broken_watch_resumes_at_once() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(0L,
                         watch(world, ReflectorWorld::event("ADDED", ReflectorWorld::object("b", "11")), 5s, cut()));
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=11"));
  }

  void a_watch_that_times_out_is_reported_and_not_connected() {
    ReflectorWorld world;
    world.list_once();
    const lib::Status silence{lib::StatusCode::unavailable, "the server is silent", ETIMEDOUT};
    const std::string event = ReflectorWorld::event("ADDED", ReflectorWorld::object("b", "11"));
    CPPUNIT_ASSERT_EQUAL(800L, watch(world, event, 40s, silence));
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    CPPUNIT_ASSERT_EQUAL(std::string("the server is silent"), world.reflector.status().last_error);
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=11"));
    CPPUNIT_ASSERT(world.reflector.status().connected);
  }

  void a_watch_that_breaks_at_once_backs_off() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(800L, watch(world, "", 10ms, cut()));
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10"));
  }

  void a_very_short_watch_lists_again() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(800L, watch(world, "", 999ms));
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked("resourceVersion=10"));
    CPPUNIT_ASSERT(!world.asked("watch="));
  }

  void a_short_watch_with_events_waits_and_resumes() {
    ReflectorWorld world;
    world.list_once();
    CPPUNIT_ASSERT_EQUAL(800L, watch(world, ReflectorWorld::bookmark("12"), 100ms));
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=12"));
  }

  void events_of_unknown_type_are_skipped() {
    ReflectorWorld world;
    world.list_once();
    watch(world, ReflectorWorld::event("RENAMED", ReflectorWorld::object("x", "50")) +
                     ReflectorWorld::event("RENAMED", ReflectorWorld::object("x", "51")) +
                     ReflectorWorld::event("ADDED", ReflectorWorld::object("b", "11")));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert Service demo/b"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.log.lines().size());
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("resourceVersion=11"));
  }

  void events_about_other_kinds_are_skipped() {
    ReflectorWorld world;
    world.list_once();
    watch(world, ReflectorWorld::event(
                     "ADDED", R"({"kind":"Pod","metadata":{"name":"p","namespace":"demo","resourceVersion":"50"}})"));
    CPPUNIT_ASSERT_EQUAL(std::string(""), world.events.take_text());
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("resourceVersion=10"));
  }

  void malformed_text_lists_again() {
    for (const std::string& text :
         {std::string("<html>"), std::string("{\"type\":\"ADDED\",\"object\":{\"a\":\"\xff\"}}"), std::string("{}}"),
          std::string("{\"type\":\"ADDED\",\"object\":null}"), std::string("{\"type\":1}")}) {
      ReflectorWorld world;
      world.list_once();
      CPPUNIT_ASSERT_EQUAL(800L,
                           watch(world, ReflectorWorld::event("ADDED", ReflectorWorld::object("b", "11")) + text));
      CPPUNIT_ASSERT_EQUAL(std::string("upsert Service demo/b"), world.events.take_text());
      world.transport.expect_list(ReflectorWorld::list("30", ""));
      world.step();
      CPPUNIT_ASSERT(!world.asked("watch="));
      CPPUNIT_ASSERT(world.reflector.status().errors == 1);
    }
  }

  void a_truncated_event_is_not_delivered() {
    ReflectorWorld world;
    world.list_once();
    const std::string event = ReflectorWorld::event("ADDED", ReflectorWorld::object("b", "11"));
    for (std::size_t size = 0; size + 1 < event.size(); size += 7) {
      CPPUNIT_ASSERT_EQUAL(0L, watch(world, event.substr(0, size), 5s, cut()));
      CPPUNIT_ASSERT_EQUAL(std::string(""), world.events.take_text());
      CPPUNIT_ASSERT(world.asked("resourceVersion=10"));
    }
  }

  void a_malformed_event_with_a_name_affects_one_object() {
    ReflectorWorld world;
    world.list_once();
    const auto malformed = [](const std::string& type, const std::string& name, const std::string& version) {
      return ReflectorWorld::event(type, ReflectorWorld::object(name, version, "\"x\":\"\xff\""));
    };
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, malformed("MODIFIED", "a", "11") + malformed("DELETED", "b", "12") +
                                              ReflectorWorld::event("ADDED", ReflectorWorld::object("c", "13"))));
    // A deletion needs only the name of the object.
    CPPUNIT_ASSERT_EQUAL(std::string("unusable Service demo/a, remove Service demo/b, upsert Service demo/c"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().unusable);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
    watch(world, "");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=13"));
  }

  void an_oversized_event_affects_one_object() {
    ReflectorWorld world;
    world.list_once();
    const std::string big = ReflectorWorld::object("a", "11", "\"x\":\"" + std::string(8u << 20, 'x') + '"');
    CPPUNIT_ASSERT_EQUAL(0L, watch(world, ReflectorWorld::event("MODIFIED", big) +
                                              ReflectorWorld::event("ADDED", ReflectorWorld::object("c", "13"))));
    CPPUNIT_ASSERT_EQUAL(std::string("unusable Service demo/a, upsert Service demo/c"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube Service demo/a: is larger than 4 MiB; keeping the last valid "
                                     "state of the object"),
                         world.logged().at(0));
  }

  void an_event_without_a_name_is_reported() {
    ReflectorWorld world;
    world.list_once();
    for (const char* type : {"ADDED", "MODIFIED", "DELETED"}) {
      watch(world,
            ReflectorWorld::event(type, R"({"metadata":{"namespace":"demo","resourceVersion":"11"},"spec":{}})") +
                ReflectorWorld::event("ADDED", ReflectorWorld::object("c", "13")));
      CPPUNIT_ASSERT_EQUAL(std::string("upsert Service demo/c"), world.events.take_text());
    }
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), world.reflector.status().unusable);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.logged().size());
    CPPUNIT_ASSERT(world.logged()[0].find("Service without a readable name: metadata.name: is missing") !=
                   std::string::npos);
  }

  void events_about_other_kinds_are_logged_once() {
    ReflectorWorld world;
    world.list_once();
    const std::string pod =
        ReflectorWorld::event("ADDED", R"({"kind":"Pod","metadata":{"name":"p","namespace":"demo"}})");
    watch(world, pod + pod + pod);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.logged().size());
  }

  void connected_means_a_running_watch() {
    ReflectorWorld world;
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    world.list_once();
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    watch(world, "");
    CPPUNIT_ASSERT(world.reflector.status().connected);
    world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
    world.step();
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    CPPUNIT_ASSERT_EQUAL(std::string("refused"), world.reflector.status().last_error);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorWatchTest);

}  // namespace reflector_watch_test
}  // namespace sluice::kube

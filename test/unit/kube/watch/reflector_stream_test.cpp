// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Streaming lists, and servers that do not support them.

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>

#include "test/unit/kube/recorded.hpp"
#include "test/unit/kube/watch/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_stream_test {

using namespace std::chrono_literals;
using test::ReflectorWorld;

lib::Status cut() { return {lib::StatusCode::unavailable, "the connection broke", ECONNRESET}; }

struct StreamWorld : ReflectorWorld {
  explicit StreamWorld(Resource resource = services_resource()) : ReflectorWorld(std::move(resource), true) {}

  static std::string added(const std::string& name, const std::string& version) {
    return event("ADDED", object(name, version));
  }
  // A streaming list of demo/a, complete at version 10, which then continues as a watch for a while.
  long stream_once() {
    const long delay = answer(added("a", "9") + initial_events_end("10"));
    events.take();
    return delay;
  }
  bool asked_for_stream() const { return asked("sendInitialEvents=true"); }
  bool asked_for_list() const { return !asked("watch="); }
};

class ReflectorStreamTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorStreamTest);
  CPPUNIT_TEST(a_stream_is_requested_first);
  CPPUNIT_TEST(initial_events_are_a_list_and_the_watch_continues);
  CPPUNIT_TEST(only_the_end_of_the_initial_events_ends_a_list);
  CPPUNIT_TEST(a_recorded_stream_is_a_list);
  CPPUNIT_TEST(a_stream_without_objects_is_an_empty_list);
  CPPUNIT_TEST(changes_among_the_initial_events_are_delivered);
  CPPUNIT_TEST(a_broken_stream_is_restarted);
  CPPUNIT_TEST(the_third_consecutive_broken_stream_falls_back_to_a_list);
  CPPUNIT_TEST(a_watch_that_was_a_stream_is_resumed);
  CPPUNIT_TEST(an_expired_watch_is_streamed_again_from_the_last_version);
  CPPUNIT_TEST(a_stream_from_an_expired_version_requests_the_newest);
  CPPUNIT_TEST(a_stream_from_a_too_large_version_requests_the_newest);
  CPPUNIT_TEST(servers_that_reject_streams_are_listed);
  CPPUNIT_TEST(servers_that_ignore_the_stream_option_are_listed);
  CPPUNIT_TEST(servers_that_send_ordinary_bookmarks_are_listed);
  CPPUNIT_TEST(a_pause_among_initial_events_is_no_timeout);
  CPPUNIT_TEST(a_connection_timeout_does_not_disable_streams);
  CPPUNIT_TEST(an_idle_watch_is_no_timeout);
  CPPUNIT_TEST(a_rejection_is_remembered_for_an_hour);
  CPPUNIT_TEST(a_rejection_is_forgotten_when_the_server_was_unreachable);
  CPPUNIT_TEST(one_reflector_learns_from_another);
  CPPUNIT_TEST(transient_errors_do_not_fall_back_to_a_list);
  CPPUNIT_TEST(other_errors_fall_back_to_a_list_once);
  CPPUNIT_TEST(error_events_in_a_stream_are_handled);
  CPPUNIT_TEST(a_stream_that_ends_at_once_falls_back_to_a_list);
  CPPUNIT_TEST(malformed_text_in_a_stream_falls_back_to_a_list);
  CPPUNIT_TEST(a_malformed_object_in_a_stream_keeps_its_last_state);
  CPPUNIT_TEST(initial_events_must_end_with_a_version);
  CPPUNIT_TEST(unknown_field_selectors_are_dropped_in_streams_too);
  CPPUNIT_TEST(connected_after_the_end_of_the_initial_events);
  CPPUNIT_TEST(stopping_a_stream_is_not_a_failure);
  CPPUNIT_TEST(the_feature_gate_of_client_go_is_supported);
  CPPUNIT_TEST_SUITE_END();

  void a_stream_is_requested_first() {
    StreamWorld world;
    world.stream_once();
    CPPUNIT_ASSERT_EQUAL(std::string("/api/v1/"
                                     "services?labelSelector=%21service.kubernetes.io%2Fservice-proxy-name&"
                                     "fieldSelector=spec.clusterIP%21%3DNone&watch=true&allowWatchBookmarks=true&"
                                     "timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
                         world.transport.last_asked());
  }

  void initial_events_are_a_list_and_the_watch_continues() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::added("a", "9") + StreamWorld::added("b", "3") +
                                          StreamWorld::initial_events_end("10") + StreamWorld::added("c", "11") +
                                          StreamWorld::event("DELETED", StreamWorld::object("a", "12"))));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, upsert Service demo/b, end Service, upsert "
                                     "Service demo/c, remove Service demo/a"),
                         world.events.take_text());
    const auto status = world.reflector.status();
    CPPUNIT_ASSERT(status.listed && status.connected);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), status.lists);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), status.streamed);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), status.watches);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), status.relists);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(2), status.events);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.transport.requests());
  }

  void only_the_end_of_the_initial_events_ends_a_list() {
    const std::string whole = StreamWorld::added("a", "9") + StreamWorld::initial_events_end("10");
    for (std::size_t size = 0; size + 1 < whole.size(); size += 3) {
      StreamWorld world;
      world.answer(whole.substr(0, size), 5s, cut());
      CPPUNIT_ASSERT_EQUAL(std::string::npos, world.events.take_text().find("end"));
      CPPUNIT_ASSERT(!world.reflector.status().listed && !world.reflector.status().connected);
    }
  }

  void a_recorded_stream_is_a_list() {
    StreamWorld world;
    world.answer(test::recorded("watchlist-services-sendinitialevents").body);
    const auto delivered = world.events.take();
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service"), delivered.front());
    CPPUNIT_ASSERT_EQUAL(std::string("end Service"), delivered.back());
    CPPUNIT_ASSERT_EQUAL(std::size_t(8), delivered.size());
    world.answer("");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=580"));
  }

  void a_stream_without_objects_is_an_empty_list() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::initial_events_end("10")));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, end Service"), world.events.take_text());
  }

  void changes_among_the_initial_events_are_delivered() {
    StreamWorld world(endpoint_slices_resource());
    const std::string of_use =
        R"({"metadata":{"name":"s","namespace":"demo","labels":{"kubernetes.io/service-name":"w"}},)"
        R"("addressType":"IPv4"})";
    const std::string of_no_use = R"({"metadata":{"name":"s","namespace":"demo"},"addressType":"IPv4"})";
    world.answer(StreamWorld::event("ADDED", of_use) + StreamWorld::event("MODIFIED", of_no_use) +
                 StreamWorld::event("ADDED", of_no_use) + StreamWorld::event("DELETED", of_use) +
                 StreamWorld::initial_events_end("10"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, upsert EndpointSlice demo/s, remove EndpointSlice demo/s, "
                                     "remove EndpointSlice demo/s, end EndpointSlice"),
                         world.events.take_text());
  }

  void a_broken_stream_is_restarted() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::added("a", "9"), 5s, cut()));
    world.answer(StreamWorld::added("b", "8") + StreamWorld::initial_events_end("10"));
    CPPUNIT_ASSERT(world.asked_for_stream());
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
    CPPUNIT_ASSERT_EQUAL(
        std::string("begin Service, upsert Service demo/a, begin Service, upsert Service demo/b, end Service"),
        world.events.take_text());
    // One line when it breaks, one when it works again, none about the connection.
    const auto logged = world.logged();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), logged.size());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube list services: the connection broke; retrying"), logged[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube list services: works again after 1 failures"), logged[1]);
  }

  void the_third_consecutive_broken_stream_falls_back_to_a_list() {
    StreamWorld world;
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT(world.answer(StreamWorld::added("a", "9"), 5s, cut()) > 0);
      CPPUNIT_ASSERT(world.asked_for_stream());
    }
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
    // The server does support streaming lists.
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")));
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void a_watch_that_was_a_stream_is_resumed() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.stream_once());
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::added("b", "17"), 5s, cut()));
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10") && !world.asked_for_stream());
    world.answer("");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=17") && !world.asked_for_stream());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().lists);
  }

  void an_expired_watch_is_streamed_again_from_the_last_version() {
    StreamWorld world;
    world.stream_once();
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired"))));
    world.answer(StreamWorld::added("b", "20") + StreamWorld::initial_events_end("30"));
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10") && world.asked_for_stream());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/b, end Service"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().relists);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void a_stream_from_an_expired_version_requests_the_newest() {
    StreamWorld world;
    world.stream_once();
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")));
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(410, StreamWorld::status(410, "Expired")));
    // If even the newest version has expired, the retry is delayed.
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired"))));
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
  }

  void a_stream_from_a_too_large_version_requests_the_newest() {
    StreamWorld world;
    world.stream_once();
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")));
    CPPUNIT_ASSERT_EQUAL(
        0L, world.refuse(504, StreamWorld::status(504, "Timeout", "Too large resource version: 99, current: 5")));
    world.answer(StreamWorld::initial_events_end("5"));
    CPPUNIT_ASSERT(world.asked_for_stream() && !world.asked("resourceVersion="));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, end Service"), world.events.take_text());
  }

  void servers_that_reject_streams_are_listed() {
    for (const int code : {400, 405, 422}) {
      StreamWorld world;
      CPPUNIT_ASSERT_EQUAL(0L,
                           world.refuse(code, StreamWorld::status(code, "Invalid", "sendInitialEvents: Forbidden")));
      world.transport.expect_list(StreamWorld::list("10", StreamWorld::object("a", "9")));
      CPPUNIT_ASSERT_EQUAL(0L, world.step());
      CPPUNIT_ASSERT(world.asked_for_list() && world.asked("resourceVersion=0"));
      CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, end Service"), world.events.take_text());
      world.answer("");
      CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10") && !world.asked_for_stream());
      const auto logged = world.logged();
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), logged.size());
      CPPUNIT_ASSERT_EQUAL(
          "INFO sluice.kube the server does not offer streaming lists: the API server https://api answers " +
              std::to_string(code) + " Invalid: \"sendInitialEvents: Forbidden\"; listing instead",
          logged[0]);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().streamed);
    }
  }

  void servers_that_ignore_the_stream_option_are_listed() {
    // Without a resourceVersion, a server sends all objects and then nothing.
    StreamWorld world;
    world.transport.expect({.status = 200, .body = StreamWorld::added("a", "9"), .silence = 300s});
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(world.clock.now() - lib::Clock::Time() <= 20s);
    world.transport.expect_list(StreamWorld::list("10", ""));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(world.asked_for_list());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, begin Service, end Service"),
                         world.events.take_text());
  }

  void servers_that_send_ordinary_bookmarks_are_listed() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::added("a", "9") + StreamWorld::bookmark("10") +
                                          StreamWorld::initial_events_end("10")));
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
  }

  void a_pause_among_initial_events_is_no_timeout() {
    StreamWorld world;
    world.transport.expect({.status = 200, .body = StreamWorld::added("a", "9"), .end = cut(), .silence = 9s});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void a_connection_timeout_does_not_disable_streams() {
    StreamWorld world;
    const lib::Status dead{lib::StatusCode::unavailable, "the server is silent", ETIMEDOUT};
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::added("a", "9"), 9s, dead));
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void an_idle_watch_is_no_timeout() {
    StreamWorld world;
    world.transport.expect({.status = 200, .body = StreamWorld::initial_events_end("10"), .silence = 400s});
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    world.answer("");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10"));
  }

  static void list_after_expiry(StreamWorld& world) {
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")), 2s);
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
  }

  void a_rejection_is_remembered_for_an_hour() {
    StreamWorld world;
    world.refuse(422);
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    list_after_expiry(world);
    world.clock.advance(59min);
    list_after_expiry(world);
    world.clock.advance(1min);
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")), 2s);
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void a_rejection_is_forgotten_when_the_server_was_unreachable() {
    StreamWorld world;
    world.refuse(422);
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
    world.step();
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")), 2s);
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void one_reflector_learns_from_another() {
    StreamWorld world;
    world.support.mark_unsupported("another reflector found it");
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
  }

  void transient_errors_do_not_fall_back_to_a_list() {
    StreamWorld world;
    for (const int code : {429, 401, 502, 503}) {
      CPPUNIT_ASSERT(world.refuse(code) > 0);
      CPPUNIT_ASSERT(world.asked_for_stream());
    }
    world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
    CPPUNIT_ASSERT(world.step() > 0);
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(5), world.reflector.status().errors);
  }

  void other_errors_fall_back_to_a_list_once() {
    for (const int code : {403, 404, 500, 504}) {
      StreamWorld world;
      CPPUNIT_ASSERT_EQUAL(800L, world.refuse(code));
      world.transport.expect_list(StreamWorld::list("10", ""));
      world.step();
      CPPUNIT_ASSERT(world.asked_for_list());
      world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")), 2s);
      world.stream_once();
      CPPUNIT_ASSERT(world.asked_for_stream());
    }
  }

  void error_events_in_a_stream_are_handled() {
    const auto error = [](int code) {
      return StreamWorld::added("a", "9") + StreamWorld::event("ERROR", StreamWorld::status(code, "x"));
    };
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(error(429), 2s));
    CPPUNIT_ASSERT_EQUAL(1600L, world.answer(error(500), 2s));
    CPPUNIT_ASSERT(world.asked_for_stream());
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "begin Service, upsert Service demo/a, begin Service, upsert Service demo/a, begin Service, end Service"),
        world.events.take_text());
  }

  void a_stream_that_ends_at_once_falls_back_to_a_list() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.answer("", 10ms));
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
  }

  void malformed_text_in_a_stream_falls_back_to_a_list() {
    for (const std::string& text : {std::string("<html>"), std::string("{}}"), std::string(R"({"type":1})")}) {
      StreamWorld world;
      CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::added("a", "9") + text));
      CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a"), world.events.take_text());
      world.transport.expect_list(StreamWorld::list("10", ""));
      world.step();
      CPPUNIT_ASSERT(world.asked_for_list());
    }
  }

  void a_malformed_object_in_a_stream_keeps_its_last_state() {
    StreamWorld world;
    world.answer(StreamWorld::event("ADDED", StreamWorld::object("bad", "8", "\"x\":\"\xff\"")) +
                 StreamWorld::added("b", "9") + StreamWorld::initial_events_end("10"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, unusable Service demo/bad, upsert Service demo/b, end Service"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().unusable);
  }

  void initial_events_must_end_with_a_version() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::initial_events_end("")));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service"), world.events.take_text());
  }

  void unknown_field_selectors_are_dropped_in_streams_too() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(
        0L, world.refuse(400, StreamWorld::status(400, "BadRequest", "field label not supported: spec.clusterIP")));
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream() && !world.asked("fieldSelector"));
  }

  void connected_after_the_end_of_the_initial_events() {
    StreamWorld world;
    world.answer(StreamWorld::added("a", "9"), 5s, cut());
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    world.stream_once();
    CPPUNIT_ASSERT(world.reflector.status().connected);
  }

  void stopping_a_stream_is_not_a_failure() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(
        0L, world.answer(StreamWorld::added("a", "9"), 5s, {lib::StatusCode::unavailable, "stopped", ECANCELED}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), world.logged().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void the_feature_gate_of_client_go_is_supported() {
    test::CapturedLog log;
    const auto wanted = [](const std::string& value) {
      return streaming_lists_wanted([&](const std::string& name) {
        CPPUNIT_ASSERT_EQUAL(std::string("KUBE_FEATURE_WatchListClient"), name);
        return value;
      });
    };
    for (const char* value : {"", "true", "1", "T"}) CPPUNIT_ASSERT(wanted(value));
    for (const char* value : {"false", "False", "0", "f"}) CPPUNIT_ASSERT(!wanted(value));
    CPPUNIT_ASSERT(log.lines().empty());
    CPPUNIT_ASSERT(wanted("off"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), log.lines().size());
    StreamWorld off;
    StreamingSupport support(false, off.clock);
    CPPUNIT_ASSERT(!support.may_be_supported());
    support.unreachable();
    CPPUNIT_ASSERT(!support.may_be_supported());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorStreamTest);

}  // namespace reflector_stream_test
}  // namespace sluice::kube

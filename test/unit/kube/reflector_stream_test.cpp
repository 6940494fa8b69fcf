// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists that come as the beginning of a watch, and servers that do not have them.

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>

#include "test/unit/kube/recorded.hpp"
#include "test/unit/kube/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_stream_test {

using namespace std::chrono_literals;
using test::ReflectorWorld;

base::Status cut() { return {base::StatusCode::unavailable, "the connection broke", ECONNRESET}; }

struct StreamWorld : ReflectorWorld {
  explicit StreamWorld(Resource resource = services_resource()) : ReflectorWorld(std::move(resource), true) {}

  static std::string added(const std::string& name, const std::string& version) {
    return event("ADDED", object(name, version));
  }
  // A stream of demo/a is complete at version 10 and goes on as a watch for a while.
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
  CPPUNIT_TEST(a_stream_is_asked_for_first);
  CPPUNIT_TEST(initial_events_are_a_list_and_the_watch_goes_on);
  CPPUNIT_TEST(nothing_ends_a_list_but_the_end_of_the_initial_events);
  CPPUNIT_TEST(a_recorded_stream_is_a_list);
  CPPUNIT_TEST(a_stream_of_nothing_is_an_empty_list);
  CPPUNIT_TEST(changes_among_the_initial_events_count);
  CPPUNIT_TEST(a_stream_that_is_cut_begins_again);
  CPPUNIT_TEST(the_third_cut_in_a_row_lists);
  CPPUNIT_TEST(a_watch_that_was_a_stream_is_resumed);
  CPPUNIT_TEST(an_expired_watch_streams_again_from_the_last_version);
  CPPUNIT_TEST(a_stream_from_an_expired_version_asks_for_the_newest);
  CPPUNIT_TEST(a_stream_from_a_version_of_the_future_asks_for_the_newest);
  CPPUNIT_TEST(servers_that_refuse_streams_are_listed);
  CPPUNIT_TEST(servers_that_ignore_the_wish_are_listed);
  CPPUNIT_TEST(servers_that_send_ordinary_bookmarks_are_listed);
  CPPUNIT_TEST(a_pause_among_initial_events_is_no_silence);
  CPPUNIT_TEST(a_path_that_dies_in_a_stream_says_nothing_about_streams);
  CPPUNIT_TEST(a_quiet_watch_is_no_silence);
  CPPUNIT_TEST(a_refusal_is_remembered_for_an_hour);
  CPPUNIT_TEST(a_refusal_is_forgotten_when_the_server_was_away);
  CPPUNIT_TEST(one_reflector_learns_from_another);
  CPPUNIT_TEST(errors_worth_repeating_do_not_list);
  CPPUNIT_TEST(other_refusals_list_this_once);
  CPPUNIT_TEST(error_events_in_the_stream);
  CPPUNIT_TEST(a_stream_that_ends_at_once_lists);
  CPPUNIT_TEST(broken_text_in_the_stream_lists);
  CPPUNIT_TEST(a_damaged_object_in_the_stream_is_kept_and_the_rest_goes_on);
  CPPUNIT_TEST(an_end_without_version_is_no_end);
  CPPUNIT_TEST(unknown_field_selectors_are_dropped_in_streams_too);
  CPPUNIT_TEST(connected_begins_with_the_end_of_the_initial_events);
  CPPUNIT_TEST(stopping_a_stream_is_no_failure);
  CPPUNIT_TEST(the_switch_of_client_go_is_understood);
  CPPUNIT_TEST_SUITE_END();

  void a_stream_is_asked_for_first() {
    StreamWorld world;
    world.stream_once();
    CPPUNIT_ASSERT_EQUAL(std::string("/api/v1/"
                                     "services?labelSelector=%21service.kubernetes.io%2Fservice-proxy-name&"
                                     "fieldSelector=spec.clusterIP%21%3DNone&watch=true&allowWatchBookmarks=true&"
                                     "timeoutSeconds=300&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
                         world.transport.last_asked());
  }

  void initial_events_are_a_list_and_the_watch_goes_on() {
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

  void nothing_ends_a_list_but_the_end_of_the_initial_events() {
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
    const auto told = world.events.take();
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service"), told.front());
    CPPUNIT_ASSERT_EQUAL(std::string("end Service"), told.back());
    CPPUNIT_ASSERT_EQUAL(std::size_t(8), told.size());
    world.answer("");
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=580"));
  }

  void a_stream_of_nothing_is_an_empty_list() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::initial_events_end("10")));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, end Service"), world.events.take_text());
  }

  void changes_among_the_initial_events_count() {
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

  void a_stream_that_is_cut_begins_again() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::added("a", "9"), 5s, cut()));
    world.answer(StreamWorld::added("b", "8") + StreamWorld::initial_events_end("10"));
    CPPUNIT_ASSERT(world.asked_for_stream());
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
    CPPUNIT_ASSERT_EQUAL(
        std::string("begin Service, upsert Service demo/a, begin Service, upsert Service demo/b, end Service"),
        world.events.take_text());
    // One line when it breaks, one when it works again, none of the connection.
    const auto told = world.told();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), told.size());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube list services: the connection broke; trying again"), told[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube list services: works again after 1 failures"), told[1]);
  }

  void the_third_cut_in_a_row_lists() {
    StreamWorld world;
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT(world.answer(StreamWorld::added("a", "9"), 5s, cut()) > 0);
      CPPUNIT_ASSERT(world.asked_for_stream());
    }
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
    // The server can do it all the same.
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

  void an_expired_watch_streams_again_from_the_last_version() {
    StreamWorld world;
    world.stream_once();
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired"))));
    world.answer(StreamWorld::added("b", "20") + StreamWorld::initial_events_end("30"));
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10") && world.asked_for_stream());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/b, end Service"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().relists);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void a_stream_from_an_expired_version_asks_for_the_newest() {
    StreamWorld world;
    world.stream_once();
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")));
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(410, StreamWorld::status(410, "Expired")));
    // A server to which even the newest is gone is not asked at once again.
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired"))));
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
  }

  void a_stream_from_a_version_of_the_future_asks_for_the_newest() {
    StreamWorld world;
    world.stream_once();
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")));
    CPPUNIT_ASSERT_EQUAL(
        0L, world.refuse(504, StreamWorld::status(504, "Timeout", "Too large resource version: 99, current: 5")));
    world.answer(StreamWorld::initial_events_end("5"));
    CPPUNIT_ASSERT(world.asked_for_stream() && !world.asked("resourceVersion="));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, end Service"), world.events.take_text());
  }

  void servers_that_refuse_streams_are_listed() {
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
      const auto told = world.told();
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), told.size());
      CPPUNIT_ASSERT_EQUAL(
          "INFO sluice.kube the server does not offer streaming lists: the API server https://api answers " +
              std::to_string(code) + " Invalid: \"sendInitialEvents: Forbidden\"; listing instead",
          told[0]);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().streamed);
    }
  }

  void servers_that_ignore_the_wish_are_listed() {
    // Asked to watch from nowhere, a server sends what there is and then falls silent.
    StreamWorld world;
    world.transport.expect({.status = 200, .body = StreamWorld::added("a", "9"), .silence = 300s});
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(world.clock.now() - base::Clock::Time() <= 20s);
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

  void a_pause_among_initial_events_is_no_silence() {
    StreamWorld world;
    world.transport.expect({.status = 200, .body = StreamWorld::added("a", "9"), .end = cut(), .silence = 9s});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void a_path_that_dies_in_a_stream_says_nothing_about_streams() {
    StreamWorld world;
    const base::Status dead{base::StatusCode::unavailable, "the server is silent", ETIMEDOUT};
    CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::added("a", "9"), 9s, dead));
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void a_quiet_watch_is_no_silence() {
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

  void a_refusal_is_remembered_for_an_hour() {
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

  void a_refusal_is_forgotten_when_the_server_was_away() {
    StreamWorld world;
    world.refuse(422);
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    world.transport.expect({.status = 0, .body = "", .end = base::unavailable("refused")});
    world.step();
    world.answer(StreamWorld::event("ERROR", StreamWorld::status(410, "Expired")), 2s);
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
  }

  void one_reflector_learns_from_another() {
    StreamWorld world;
    world.support.missing("another saw it");
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
  }

  void errors_worth_repeating_do_not_list() {
    StreamWorld world;
    for (const int code : {429, 401, 502, 503}) {
      CPPUNIT_ASSERT(world.refuse(code) > 0);
      CPPUNIT_ASSERT(world.asked_for_stream());
    }
    world.transport.expect({.status = 0, .body = "", .end = base::unavailable("refused")});
    CPPUNIT_ASSERT(world.step() > 0);
    world.stream_once();
    CPPUNIT_ASSERT(world.asked_for_stream());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(5), world.reflector.status().errors);
  }

  void other_refusals_list_this_once() {
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

  void error_events_in_the_stream() {
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

  void a_stream_that_ends_at_once_lists() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.answer("", 10ms));
    world.transport.expect_list(StreamWorld::list("10", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked_for_list());
  }

  void broken_text_in_the_stream_lists() {
    for (const std::string& text : {std::string("<html>"), std::string("{}}"), std::string(R"({"type":1})")}) {
      StreamWorld world;
      CPPUNIT_ASSERT_EQUAL(800L, world.answer(StreamWorld::added("a", "9") + text));
      CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a"), world.events.take_text());
      world.transport.expect_list(StreamWorld::list("10", ""));
      world.step();
      CPPUNIT_ASSERT(world.asked_for_list());
    }
  }

  void a_damaged_object_in_the_stream_is_kept_and_the_rest_goes_on() {
    StreamWorld world;
    world.answer(StreamWorld::event("ADDED", StreamWorld::object("bad", "8", "\"x\":\"\xff\"")) +
                 StreamWorld::added("b", "9") + StreamWorld::initial_events_end("10"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, unusable Service demo/bad, upsert Service demo/b, end Service"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().unusable);
  }

  void an_end_without_version_is_no_end() {
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

  void connected_begins_with_the_end_of_the_initial_events() {
    StreamWorld world;
    world.answer(StreamWorld::added("a", "9"), 5s, cut());
    CPPUNIT_ASSERT(!world.reflector.status().connected);
    world.stream_once();
    CPPUNIT_ASSERT(world.reflector.status().connected);
  }

  void stopping_a_stream_is_no_failure() {
    StreamWorld world;
    CPPUNIT_ASSERT_EQUAL(
        0L, world.answer(StreamWorld::added("a", "9"), 5s, {base::StatusCode::unavailable, "stopped", ECANCELED}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), world.told().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void the_switch_of_client_go_is_understood() {
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
    CPPUNIT_ASSERT(!support.worth_trying());
    support.unreachable();
    CPPUNIT_ASSERT(!support.worth_trying());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorStreamTest);

}  // namespace reflector_stream_test
}  // namespace sluice::kube

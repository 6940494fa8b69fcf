// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>

#include "test/unit/kube/watch/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_list_test {

using test::ReflectorWorld;

lib::Status cut() { return {lib::StatusCode::unavailable, "the connection broke", ECONNRESET}; }

class ReflectorListTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorListTest);
  CPPUNIT_TEST(the_first_list_accepts_cached_data);
  CPPUNIT_TEST(a_list_is_delivered_from_begin_to_end);
  CPPUNIT_TEST(pages_are_one_list);
  CPPUNIT_TEST(an_expired_page_restarts_the_list_without_pages);
  CPPUNIT_TEST(a_list_that_breaks_off_is_restarted);
  CPPUNIT_TEST(a_truncated_list_is_an_error);
  CPPUNIT_TEST(an_expired_version_is_dropped_at_once);
  CPPUNIT_TEST(an_expired_list_without_version_waits);
  CPPUNIT_TEST(a_too_large_version_is_dropped_at_once);
  CPPUNIT_TEST(retry_after_is_honoured_with_jitter);
  CPPUNIT_TEST(backoff_applies_after_ten_responses_with_retry_after);
  CPPUNIT_TEST(retry_after_is_ignored_on_403_and_if_zero);
  CPPUNIT_TEST(a_retry_that_the_server_asked_for_is_marked);
  CPPUNIT_TEST(errors_back_off_and_name_a_remedy);
  CPPUNIT_TEST(a_403_of_a_server_that_starts_is_not_logged);
  CPPUNIT_TEST(a_403_is_retried_soon_after_an_outage);
  CPPUNIT_TEST(an_unknown_field_selector_is_dropped_once);
  CPPUNIT_TEST(connection_failures_back_off_with_doubling);
  CPPUNIT_TEST(delays_are_jittered_and_reset_after_a_time_of_success);
  CPPUNIT_TEST(invalid_objects_are_delivered_as_unusable_and_logged_once);
  CPPUNIT_TEST(objects_that_a_proxy_does_not_need_are_not_delivered);
  CPPUNIT_TEST(other_content_types_are_rejected);
  CPPUNIT_TEST(other_kinds_are_rejected);
  CPPUNIT_TEST(a_malformed_item_fails_the_list);
  CPPUNIT_TEST(malformed_items_are_skipped_after_three_failed_lists);
  CPPUNIT_TEST(a_malformed_item_with_a_name_keeps_its_last_state);
  CPPUNIT_TEST(an_oversized_item_keeps_its_last_state);
  CPPUNIT_TEST(a_list_that_keeps_breaking_off_is_logged_once);
  CPPUNIT_TEST(a_list_without_version_is_rejected);
  CPPUNIT_TEST(each_resource_has_its_selectors);
  CPPUNIT_TEST(stop_is_not_a_failure);
  CPPUNIT_TEST_SUITE_END();

  void the_first_list_accepts_cached_data() {
    ReflectorWorld world;
    world.transport.expect_list(ReflectorWorld::list("10", ""));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("/api/v1/"
                                     "services?labelSelector=%21service.kubernetes.io%2Fservice-proxy-name&"
                                     "fieldSelector=spec.clusterIP%21%3DNone&limit=500&resourceVersion=0"),
                         world.transport.last_asked());
  }

  void a_list_is_delivered_from_begin_to_end() {
    ReflectorWorld world;
    world.transport.expect_list(
        ReflectorWorld::list("10", ReflectorWorld::object("a", "8") + "," + ReflectorWorld::object("b", "9")));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, upsert Service demo/b, end Service"),
                         world.events.take_text());
    CPPUNIT_ASSERT(world.reflector.status().listed);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().lists);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().relists);
  }

  void pages_are_one_list() {
    ReflectorWorld world;
    world.transport.expect_list(ReflectorWorld::list("10", ReflectorWorld::object("a", "8"), "t/1"));
    world.transport.expect_list(ReflectorWorld::list("10", ReflectorWorld::object("b", "9")));
    world.transport.expect({.status = 410, .body = ReflectorWorld::status(410, "Expired")});
    world.transport.expect_list(ReflectorWorld::list("20", ""));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(world.asked("&limit=500&continue=t%2F1"));
    CPPUNIT_ASSERT(!world.asked("resourceVersion"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, upsert Service demo/b, end Service"),
                         world.events.take_text());
    // A server that pages a list from its cache has no cache, so later lists are paged, too.
    world.step();
    CPPUNIT_ASSERT(world.asked("watch=true&resourceVersion=10"));
    world.step();
    CPPUNIT_ASSERT(world.asked("limit=500"));
    CPPUNIT_ASSERT(!world.asked("resourceVersion"));
  }

  void an_expired_page_restarts_the_list_without_pages() {
    ReflectorWorld world;
    world.transport.expect_list(ReflectorWorld::list("10", ReflectorWorld::object("a", "8"), "t"));
    world.transport.expect({.status = 410, .body = ReflectorWorld::status(410, "Expired")});
    world.transport.expect_list(ReflectorWorld::list("20", ReflectorWorld::object("b", "15")));
    world.step();
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(!world.asked("limit=") && !world.asked("continue="));
    CPPUNIT_ASSERT_EQUAL(
        std::string("begin Service, upsert Service demo/a, begin Service, upsert Service demo/b, end Service"),
        world.events.take_text());
  }

  void a_list_that_breaks_off_is_restarted() {
    ReflectorWorld world;
    const std::string body =
        ReflectorWorld::list("10", ReflectorWorld::object("a", "8") + "," + ReflectorWorld::object("b", "9"));
    world.transport.expect({.status = 200, .body = body.substr(0, body.size() - 60), .end = cut()});
    world.transport.expect_list(body);
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a, begin Service, upsert Service demo/a, "
                                     "upsert Service demo/b, end Service"),
                         world.events.take_text());
  }

  void a_truncated_list_is_an_error() {
    ReflectorWorld world;
    const std::string body = ReflectorWorld::list("10", ReflectorWorld::object("a", "8"));
    world.transport.expect({.status = 200, .body = body.substr(0, body.size() - 1)});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/a"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::string("the answer of the API server https://api cannot be used: the list ended too "
                                     "early, after 1 complete items"),
                         world.reflector.status().last_error);
  }

  void an_expired_version_is_dropped_at_once() {
    ReflectorWorld world;
    world.list_once();
    world.transport.expect(
        {.status = 200, .body = ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired"))});
    world.transport.expect({.status = 410, .body = ReflectorWorld::status(410, "Expired")});
    world.transport.expect_list(ReflectorWorld::list("30", ""));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(world.asked("&resourceVersion=10"));
    CPPUNIT_ASSERT(!world.asked("limit="));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().relists);
  }

  void an_expired_list_without_version_waits() {
    ReflectorWorld world;
    const test::ScriptedAnswer expired{.status = 410, .body = ReflectorWorld::status(410, "Expired")};
    world.transport.expect(expired);
    world.transport.expect(expired);
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
  }

  void a_too_large_version_is_dropped_at_once() {
    ReflectorWorld world;
    world.transport.expect(
        {.status = 504,
         .body = ReflectorWorld::status(504, "Timeout", "Too large resource version: 99, current: 5"),
         .retry_after = std::chrono::seconds(1)});
    world.transport.expect_list(ReflectorWorld::list("5", ""));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    world.step();
    CPPUNIT_ASSERT(!world.asked("resourceVersion="));
  }

  void retry_after_is_honoured_with_jitter() {
    ReflectorWorld world;
    world.random = 0.5;
    world.transport.expect({.status = 429, .body = "", .retry_after = std::chrono::seconds(9)});
    world.transport.expect(
        {.status = 503, .body = ReflectorWorld::status(503, "x", "y", R"({"retryAfterSeconds":3})")});
    CPPUNIT_ASSERT_EQUAL(9500L, world.step());
    CPPUNIT_ASSERT_EQUAL(3500L, world.step());
  }

  void backoff_applies_after_ten_responses_with_retry_after() {
    // After ten consecutive responses with Retry-After, the own backoff applies if it is longer.
    ReflectorWorld world;
    const test::ScriptedAnswer busy{.status = 429, .body = "", .retry_after = std::chrono::seconds(1)};
    for (int i = 0; i < 10; ++i) {
      world.transport.expect(busy);
      CPPUNIT_ASSERT_EQUAL(1000L, world.step());
    }
    world.transport.expect(busy);
    CPPUNIT_ASSERT_EQUAL(30000L, world.step());
    world.transport.expect_list(ReflectorWorld::list("10", ""));
    world.step();
    world.transport.expect(busy);
    CPPUNIT_ASSERT_EQUAL(1000L, world.step());
  }

  void a_retry_that_the_server_asked_for_is_marked() {
    ReflectorWorld world;
    const auto again = [&](int status, int retry_after) {
      world.transport.expect({.status = status, .body = "", .retry_after = std::chrono::seconds(retry_after)});
      world.step();
      return world.transport.last_again();
    };
    CPPUNIT_ASSERT(!again(403, 9));
    CPPUNIT_ASSERT(!again(429, 9));
    CPPUNIT_ASSERT(again(503, 1));
    CPPUNIT_ASSERT(again(503, 0));
    CPPUNIT_ASSERT(!again(429, 1));
    world.list_once();
    CPPUNIT_ASSERT(world.transport.last_again());
    CPPUNIT_ASSERT(!again(503, 1));  // the watch, which is another request
    CPPUNIT_ASSERT(again(429, 1));
  }

  void retry_after_is_ignored_on_403_and_if_zero() {
    ReflectorWorld world;
    world.transport.expect({.status = 403, .body = "", .retry_after = std::chrono::seconds(9)});
    world.transport.expect({.status = 429, .body = "", .retry_after = std::chrono::seconds(0)});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    CPPUNIT_ASSERT_EQUAL(1600L, world.step());
  }

  void errors_back_off_and_name_a_remedy() {
    ReflectorWorld world;
    for (const long delay : {800, 1600, 3200}) CPPUNIT_ASSERT_EQUAL(delay, world.refuse(403));
    world.transport.expect({.status = 403, .body = ReflectorWorld::status(403, "Forbidden", "no\\nentry")});
    world.transport.expect({.status = 502, .body = "<html>bad gateway</html>", .content_type = "text/html"});
    CPPUNIT_ASSERT_EQUAL(6400L, world.step());
    CPPUNIT_ASSERT_EQUAL(12800L, world.step());
    const auto lines = world.log.lines();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), lines.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "WARN sluice.kube list services: the API server https://api answers 403 Forbidden: \"no\\x0aentry\"; grant "
            "list and watch on services, as ClusterRole system:node-proxier does; retrying"),
        lines[0]);
    CPPUNIT_ASSERT_EQUAL(
        std::string("WARN sluice.kube list services: the API server https://api answers 502; retrying"), lines[1]);
    CPPUNIT_ASSERT_EQUAL(std::string(""), world.events.take_text());
  }

  // An API server that starts answers 403 until it has read its roles, for about a second.
  void a_403_of_a_server_that_starts_is_not_logged() {
    ReflectorWorld world;
    for (int restart = 0; restart < 7; ++restart) {
      CPPUNIT_ASSERT_EQUAL(800L, world.refuse(403));
      CPPUNIT_ASSERT_EQUAL(1600L, world.refuse(403));
      CPPUNIT_ASSERT(world.reflector.status().last_error.find("grant list and watch on services") != std::string::npos);
      world.list_once();
      world.answer(ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")));
    }
    for (const std::string& line : world.logged()) CPPUNIT_ASSERT_MESSAGE(line, line.find("403") == std::string::npos);
  }

  void a_403_is_retried_soon_after_an_outage() {
    ReflectorWorld world;
    for (int attempt = 0; attempt < 8; ++attempt) {
      world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
      world.step();
    }
    for (const long delay : {800, 1600, 3200, 6400, 12800}) CPPUNIT_ASSERT_EQUAL(delay, world.refuse(403));
    CPPUNIT_ASSERT(world.logged().back().find("grant list and watch on services") != std::string::npos);
  }

  void an_unknown_field_selector_is_dropped_once() {
    ReflectorWorld world;
    world.transport.expect(
        {.status = 400,
         .body = ReflectorWorld::status(400, "BadRequest", "field label not supported: spec.clusterIP")});
    world.transport.expect_list(ReflectorWorld::list("10", ""));
    world.transport.expect({.status = 200, .body = "", .lasts = std::chrono::seconds(400)});
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(!world.asked("fieldSelector"));
    CPPUNIT_ASSERT(world.asked("labelSelector"));
    world.step();
    CPPUNIT_ASSERT(!world.asked("fieldSelector"));
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.log.lines().size());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void connection_failures_back_off_with_doubling() {
    ReflectorWorld world;
    const long expected[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    for (const long delay : expected) {
      world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
      CPPUNIT_ASSERT_EQUAL(delay, world.step());
    }
    // Of eight failures with one reason, the first and the fourth are logged.
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), world.log.lines().size());
    world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("another")});
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), world.log.lines().size());
    world.transport.expect_list(ReflectorWorld::list("1", ""));
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube connection: works again after 9 failures"),
                         world.log.lines().back());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(9), world.reflector.status().errors);
  }

  void delays_are_jittered_and_reset_after_a_time_of_success() {
    ReflectorWorld world;
    world.random = 0.5;
    const auto fail = [&world] {
      world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
      return world.step();
    };
    CPPUNIT_ASSERT_EQUAL(1200L, fail());
    CPPUNIT_ASSERT_EQUAL(2400L, fail());
    world.clock.advance(std::chrono::seconds(119));
    CPPUNIT_ASSERT_EQUAL(4800L, fail());
    world.clock.advance(std::chrono::seconds(120));
    CPPUNIT_ASSERT_EQUAL(1200L, fail());
  }

  void invalid_objects_are_delivered_as_unusable_and_logged_once() {
    ReflectorWorld world;
    const std::string bad = ReflectorWorld::object("bad", "8", R"("ports":[{"port":0}])");
    world.transport.expect_list(
        ReflectorWorld::list("10", bad + "," + R"({"metadata":{}})" + "," + ReflectorWorld::object("b", "9")));
    world.transport.expect(
        {.status = 200, .body = ReflectorWorld::event("MODIFIED", bad), .lasts = std::chrono::seconds(2)});
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, unusable Service demo/bad, upsert Service demo/b, end Service"),
                         world.events.take_text());
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::string("unusable Service demo/bad"), world.events.take_text());
    const auto lines = world.log.lines();
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), lines.size());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube Service demo/bad: spec.ports[0].port: 0 is not a port "
                                     "(1-65535); keeping the last valid state of the object"),
                         lines[0]);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), world.reflector.status().unusable);
  }

  void objects_that_a_proxy_does_not_need_are_not_delivered() {
    ReflectorWorld world(endpoint_slices_resource());
    world.transport.expect_list(R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"1"},"items":[
        {"metadata":{"name":"a","namespace":"b","labels":{"kubernetes.io/service-name":"s"}},"addressType":"FQDN"}]})");
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, end EndpointSlice"), world.events.take_text());
  }

  void other_content_types_are_rejected() {
    ReflectorWorld world;
    world.transport.expect({.status = 200, .body = "a: b", .content_type = "application/yaml"});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("the answer of the API server https://api cannot be used: the server answers in "
                                     "\"application/yaml\", which is neither protobuf nor JSON"),
                         world.reflector.status().last_error);
    CPPUNIT_ASSERT_EQUAL(std::string(""), world.events.take_text());
    world.transport.expect(
        {.status = 200, .body = ReflectorWorld::list("1", ""), .content_type = "application/json; charset=utf-8"});
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
  }

  void other_kinds_are_rejected() {
    ReflectorWorld world;
    world.transport.expect_list(R"({"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"1"},
        "items":[{"kind":"PartialObjectMetadata","metadata":{"name":"a"}}]})");
    world.transport.expect_list(R"({"kind":"Table","metadata":{"resourceVersion":"1"},"rows":[]})");
    world.step();
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "the answer of the API server https://api cannot be used: the list holds a \"PartialObjectMetadata\""),
        world.reflector.status().last_error);
    world.step();
    CPPUNIT_ASSERT_EQUAL(
        std::string(
            "the answer of the API server https://api cannot be used: the answer is a \"Table\" and not a ServiceList"),
        world.reflector.status().last_error);
    CPPUNIT_ASSERT(!world.reflector.status().listed);
  }

  void a_malformed_item_fails_the_list() {
    ReflectorWorld world;
    world.transport.expect_list(
        ReflectorWorld::list("10", ReflectorWorld::object("a", "8") + ",{\"metadata\":{\"name\":\"\xff\"}}"));
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    CPPUNIT_ASSERT(!world.reflector.status().listed);
    CPPUNIT_ASSERT(world.reflector.status().last_error.find(" cannot be used: items[1] is not valid JSON") !=
                   std::string::npos);
  }

  void malformed_items_are_skipped_after_three_failed_lists() {
    ReflectorWorld world;
    const std::string body =
        ReflectorWorld::list("10", "{\"metadata\":{\"name\":\"\xff\"}}," + ReflectorWorld::object("b", "9"));
    for (const long delay : {800L, 1600L, 3200L}) {
      world.transport.expect_list(body);
      CPPUNIT_ASSERT_EQUAL(delay, world.step());
      CPPUNIT_ASSERT_EQUAL(std::string("begin Service"), world.events.take_text());
    }
    world.transport.expect_list(body);
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, upsert Service demo/b, end Service"), world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().unusable);
    CPPUNIT_ASSERT(world.log.text().find("WARN sluice.kube Service without a readable name: is not valid JSON") !=
                   std::string::npos);
  }

  void a_malformed_item_with_a_name_keeps_its_last_state() {
    ReflectorWorld world;
    world.transport.expect_list(ReflectorWorld::list(
        "10", ReflectorWorld::object("bad", "8", "\"x\":\"\xff\"") + "," + ReflectorWorld::object("b", "9")));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, unusable Service demo/bad, upsert Service demo/b, end Service"),
                         world.events.take_text());
  }

  void an_oversized_item_keeps_its_last_state() {
    ReflectorWorld world;
    const std::string big = ReflectorWorld::object("big", "8", "\"x\":\"" + std::string(8u << 20, 'x') + '"');
    world.transport.expect_list(ReflectorWorld::list("10", big + "," + ReflectorWorld::object("b", "9")));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service, unusable Service demo/big, upsert Service demo/b, end Service"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube Service demo/big: is larger than 4 MiB; keeping the last valid "
                                     "state of the object"),
                         world.logged().at(0));
  }

  void a_list_that_keeps_breaking_off_is_logged_once() {
    ReflectorWorld world;
    const std::string body = ReflectorWorld::list("10", ReflectorWorld::object("a", "8"));
    for (int i = 0; i < 3; ++i) {
      world.transport.expect({.status = 200, .body = body.substr(0, 60), .end = cut()});
      CPPUNIT_ASSERT(world.step() > 0);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), world.logged().size());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube list services: the connection broke; retrying"),
                         world.logged()[0]);
  }

  void a_list_without_version_is_rejected() {
    ReflectorWorld world;
    world.transport.expect_list(R"({"kind":"ServiceList","metadata":{},"items":[]})");
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    CPPUNIT_ASSERT_EQUAL(std::string("begin Service"), world.events.take_text());
  }

  void each_resource_has_its_selectors() {
    ReflectorWorld slices(endpoint_slices_resource());
    slices.transport.expect({.status = 0, .body = "", .end = cut()});
    slices.step();
    CPPUNIT_ASSERT_EQUAL(
        std::string("/apis/discovery.k8s.io/v1/"
                    "endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless&limit=500&resourceVersion=0"),
        slices.transport.last_asked());
    ReflectorWorld nodes(node_resource("node-a"));
    nodes.transport.expect({.status = 0, .body = "", .end = cut()});
    nodes.step();
    CPPUNIT_ASSERT_EQUAL(std::string("/api/v1/nodes?fieldSelector=metadata.name%3Dnode-a&limit=500&resourceVersion=0"),
                         nodes.transport.last_asked());
  }

  void stop_is_not_a_failure() {
    ReflectorWorld world;
    world.transport.expect({.status = 0, .body = "", .end = {lib::StatusCode::unavailable, "stopped", ECANCELED}});
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT(world.log.lines().empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorListTest);

}  // namespace reflector_list_test
}  // namespace sluice::kube

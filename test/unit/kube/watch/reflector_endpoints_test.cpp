// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The fallback from EndpointSlices to Endpoints.

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>

#include "test/unit/kube/watch/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_endpoints_test {

using namespace std::chrono_literals;
using test::ReflectorWorld;

struct EndpointsWorld : ReflectorWorld {
  EndpointsWorld() : ReflectorWorld(endpoint_slices_resource()) {}

  static std::string endpoints(const std::string& name, const std::string& subsets) {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"demo","resourceVersion":"9"},"subsets":[)" + subsets +
           "]}";
  }
  static std::string subset(const std::string& address, int port = 80) {
    return R"({"addresses":[{"ip":")" + address + R"("}],"ports":[{"port":)" + std::to_string(port) + "}]}";
  }
  static std::string endpoints_list(const std::string& items) {
    return R"({"kind":"EndpointsList","metadata":{"resourceVersion":"10"},"items":[)" + items + "]}";
  }
  static std::string slices_list() {
    return R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":"10"},"items":[]})";
  }
  // The server does not offer EndpointSlices and has these Endpoints.
  void list_endpoints(const std::string& items) {
    refuse(404, "404 page not found");
    refuse(404, "404 page not found");
    transport.expect_list(endpoints_list(items));
    CPPUNIT_ASSERT_EQUAL(0L, step());
  }
  long expire() { return answer(event("ERROR", status(410, "Expired")), 2s); }
};

class ReflectorEndpointsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorEndpointsTest);
  CPPUNIT_TEST(endpoints_are_read_if_the_server_has_no_slices);
  CPPUNIT_TEST(a_403_may_mean_that_the_server_has_no_slices);
  CPPUNIT_TEST(nothing_but_a_404_of_discovery_leads_to_endpoints);
  CPPUNIT_TEST(an_unreachable_server_is_retried);
  CPPUNIT_TEST(other_resources_have_no_fallback);
  CPPUNIT_TEST(endpoints_are_watched);
  CPPUNIT_TEST(slices_that_are_no_longer_made_are_removed);
  CPPUNIT_TEST(invalid_endpoints_keep_their_last_valid_state);
  CPPUNIT_TEST(endpoints_without_addresses_make_no_slices);
  CPPUNIT_TEST(endpoints_missing_in_a_list_are_removed);
  CPPUNIT_TEST(an_upgraded_server_is_detected_at_the_next_list);
  CPPUNIT_TEST(a_relist_starts_with_discovery);
  CPPUNIT_TEST(endpoints_are_listed_as_streams);
  CPPUNIT_TEST_SUITE_END();

  void endpoints_are_read_if_the_server_has_no_slices() {
    EndpointsWorld world;
    CPPUNIT_ASSERT_EQUAL(std::string("EndpointSlice"), world.reflector.status().object_kind);
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404, "404 page not found"));
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404, "404 page not found"));
    CPPUNIT_ASSERT_EQUAL(std::string("/apis/discovery.k8s.io/v1"), world.transport.last_asked());
    world.transport.expect_list(
        EndpointsWorld::endpoints_list(EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1"))));
    CPPUNIT_ASSERT_EQUAL(0L, world.step());
    CPPUNIT_ASSERT_EQUAL(
        std::string("/api/v1/endpoints?labelSelector=%21service.kubernetes.io%2Fheadless&limit=500&resourceVersion=0"),
        world.transport.last_asked());
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, upsert EndpointSlice demo/web-ipv4-0, end EndpointSlice"),
                         world.events.take_text());
    const auto logged = world.logged();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), logged.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("WARN sluice.kube the API server https://api does not offer discovery.k8s.io/v1: core/v1 Endpoints "
                    "are read in place of EndpointSlices, without topology hints and without terminating endpoints"),
        logged[0]);
    CPPUNIT_ASSERT_EQUAL(std::string("Endpoints"), world.reflector.status().object_kind);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(0), world.reflector.status().errors);
  }

  void a_403_may_mean_that_the_server_has_no_slices() {
    // The server checks access before it finds that the API group does not exist.
    EndpointsWorld world;
    world.refuse(403);
    world.refuse(404);
    world.transport.expect_list(EndpointsWorld::endpoints_list(""));
    world.step();
    CPPUNIT_ASSERT(world.asked("/api/v1/endpoints"));
  }

  void nothing_but_a_404_of_discovery_leads_to_endpoints() {
    for (const int code : {200, 403, 429, 500, 503}) {
      EndpointsWorld world;
      world.refuse(404);
      world.transport.expect({.status = code, .body = "{}"});
      // The error of the list is logged once, and the list is retried later.
      CPPUNIT_ASSERT_EQUAL(800L, world.step());
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), world.reflector.status().errors);
      CPPUNIT_ASSERT(world.reflector.status().last_error.find("answers 404") != std::string::npos);
      world.transport.expect_list(EndpointsWorld::slices_list());
      world.step();
      CPPUNIT_ASSERT(world.asked("/apis/discovery.k8s.io/v1/endpointslices?"));
    }
    for (const int code : {401, 410, 429, 500, 502, 503, 504}) {
      EndpointsWorld world;
      world.refuse(code);
      world.transport.expect_list(EndpointsWorld::slices_list());
      world.step();
      CPPUNIT_ASSERT(world.asked("/apis/discovery.k8s.io/v1/endpointslices?"));
    }
  }

  void an_unreachable_server_is_retried() {
    EndpointsWorld world;
    world.refuse(404);
    world.transport.expect({.status = 0, .body = "", .end = lib::unavailable("refused")});
    CPPUNIT_ASSERT_EQUAL(800L, world.step());
    world.refuse(404);
    CPPUNIT_ASSERT_EQUAL(std::string("/apis/discovery.k8s.io/v1"), world.transport.last_asked());
    CPPUNIT_ASSERT_EQUAL(std::string("Endpoints"), world.reflector.status().object_kind);
  }

  void other_resources_have_no_fallback() {
    ReflectorWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.refuse(404));
    world.transport.expect_list(ReflectorWorld::list("1", ""));
    world.step();
    CPPUNIT_ASSERT(world.asked("/api/v1/services?"));
  }

  void endpoints_are_watched() {
    EndpointsWorld world;
    world.list_endpoints(EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1")));
    world.events.take();
    world.answer(
        EndpointsWorld::event("MODIFIED", EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.2"))) +
        EndpointsWorld::event("ADDED", EndpointsWorld::endpoints("db", EndpointsWorld::subset("fd00::1"))) +
        EndpointsWorld::event("DELETED", EndpointsWorld::endpoints("web", "")));
    CPPUNIT_ASSERT(world.asked("/api/v1/endpoints?"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert EndpointSlice demo/web-ipv4-0, upsert EndpointSlice demo/db-ipv6-0, "
                                     "remove EndpointSlice demo/web-ipv4-0"),
                         world.events.take_text());
  }

  void slices_that_are_no_longer_made_are_removed() {
    EndpointsWorld world;
    world.list_endpoints(EndpointsWorld::endpoints(
        "web", EndpointsWorld::subset("10.0.0.1", 80) + "," + EndpointsWorld::subset("10.0.0.1", 81)));
    world.events.take();
    world.answer(
        EndpointsWorld::event("MODIFIED", EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1"))));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert EndpointSlice demo/web-ipv4-0, remove EndpointSlice demo/web-ipv4-1"),
                         world.events.take_text());
  }

  void invalid_endpoints_keep_their_last_valid_state() {
    EndpointsWorld world;
    const std::string bad = EndpointsWorld::endpoints("web", R"({"addresses":5})");
    world.list_endpoints(EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1")));
    world.events.take();
    world.answer(EndpointsWorld::event("MODIFIED", bad));
    CPPUNIT_ASSERT_EQUAL(std::string("unusable EndpointSlice demo/web-ipv4-0"), world.events.take_text());
    world.expire();
    world.refuse(404);
    world.transport.expect_list(EndpointsWorld::endpoints_list(bad));
    world.step();
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, unusable EndpointSlice demo/web-ipv4-0, end EndpointSlice"),
                         world.events.take_text());
    CPPUNIT_ASSERT(world.log.text().find("Endpoints demo/web: subsets[0].addresses: is a number, not a list") !=
                   std::string::npos);
  }

  void endpoints_without_addresses_make_no_slices() {
    // Such as those for leader election.
    EndpointsWorld world;
    const std::string lock =
        R"({"metadata":{"name":"lock","namespace":"kube-system","annotations":
        {"control-plane.alpha.kubernetes.io/leader":"{}"}}})";
    world.list_endpoints(lock);
    world.answer(EndpointsWorld::event("MODIFIED", lock));
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, end EndpointSlice"), world.events.take_text());
  }

  void endpoints_missing_in_a_list_are_removed() {
    EndpointsWorld world;
    world.list_endpoints(EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1")));
    world.expire();
    world.refuse(404);
    world.transport.expect_list(EndpointsWorld::endpoints_list(""));
    world.step();
    world.events.take();
    world.answer(EndpointsWorld::event("DELETED", EndpointsWorld::endpoints("web", "")));
    CPPUNIT_ASSERT_EQUAL(std::string(""), world.events.take_text());
  }

  void an_upgraded_server_is_detected_at_the_next_list() {
    EndpointsWorld world;
    world.list_endpoints(EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1")));
    world.expire();
    CPPUNIT_ASSERT_EQUAL(0L, world.answer(R"({"kind":"APIResourceList"})", 0s));
    CPPUNIT_ASSERT_EQUAL(std::string("/apis/discovery.k8s.io/v1"), world.transport.last_asked());
    world.transport.expect_list(EndpointsWorld::slices_list());
    world.step();
    CPPUNIT_ASSERT(world.asked("/apis/discovery.k8s.io/v1/endpointslices?"));
    CPPUNIT_ASSERT_EQUAL(std::string("EndpointSlice"), world.reflector.status().object_kind);
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, upsert EndpointSlice demo/web-ipv4-0, end EndpointSlice, "
                                     "begin EndpointSlice, end EndpointSlice"),
                         world.events.take_text());
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube the API server https://api offers discovery.k8s.io/v1 now: "
                                     "EndpointSlices are read in place of Endpoints"),
                         world.logged().back());
  }

  void a_relist_starts_with_discovery() {
    // Endpoints stay in use unless discovery succeeds.
    for (const int code : {404, 403, 500}) {
      EndpointsWorld world;
      world.list_endpoints("");
      world.expire();
      CPPUNIT_ASSERT_EQUAL(0L, world.refuse(code));
      world.transport.expect_list(EndpointsWorld::endpoints_list(""));
      world.step();
      CPPUNIT_ASSERT(world.asked("/api/v1/endpoints?"));
    }
  }

  void endpoints_are_listed_as_streams() {
    ReflectorWorld world(endpoint_slices_resource(), true);
    world.refuse(404);
    world.refuse(404);
    world.answer(EndpointsWorld::event("ADDED", EndpointsWorld::endpoints("web", EndpointsWorld::subset("10.0.0.1"))) +
                 EndpointsWorld::initial_events_end("10"));
    CPPUNIT_ASSERT(world.asked("/api/v1/endpoints?") && world.asked("sendInitialEvents=true"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin EndpointSlice, upsert EndpointSlice demo/web-ipv4-0, end EndpointSlice"),
                         world.events.take_text());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorEndpointsTest);

}  // namespace reflector_endpoints_test
}  // namespace sluice::kube

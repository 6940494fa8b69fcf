// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ServiceCIDRs: a server may have an older version or none, and may deny access.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/watch/reflector_world.hpp"

namespace sluice::kube {
namespace reflector_service_cidrs_test {

using namespace std::chrono_literals;
using test::ReflectorWorld;

constexpr long kSeldom = 300'000;
const std::string kV1 = "/apis/networking.k8s.io/v1/servicecidrs?";
const std::string kOlder = "/apis/networking.k8s.io/v1beta1/servicecidrs?";

struct CidrWorld : ReflectorWorld {
  explicit CidrWorld(bool streaming = false) : ReflectorWorld(service_cidrs_resource(), streaming) {}

  static std::string object(const std::string& name) {
    return R"({"kind":"ServiceCIDR","metadata":{"name":")" + name +
           R"(","resourceVersion":"9"},"spec":{"cidrs":["172.30.0.0/16"]}})";
  }
  static std::string cidr_list(const std::string& items) {
    return R"({"kind":"ServiceCIDRList","metadata":{"resourceVersion":"10"},"items":[)" + items + "]}";
  }
  // 403s in a row, until the next retry takes long.
  void refuse_until_slow() {
    for (const long soon : {800, 1600, 3200}) CPPUNIT_ASSERT_EQUAL(soon, refuse(403));
  }
  void list_kubernetes() {
    transport.expect_list(cidr_list(object("kubernetes")));
    CPPUNIT_ASSERT_EQUAL(0L, step());
  }
};

class ReflectorServiceCidrsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorServiceCidrsTest);
  CPPUNIT_TEST(service_cidrs_are_listed_and_watched);
  CPPUNIT_TEST(an_older_server_has_v1beta1);
  CPPUNIT_TEST(a_server_without_service_cidrs_is_retried_slowly);
  CPPUNIT_TEST(an_upgraded_server_is_detected);
  CPPUNIT_TEST(a_server_that_loses_service_cidrs_has_none);
  CPPUNIT_TEST(a_403_is_logged_once_with_the_rule_and_does_not_block_the_sync);
  CPPUNIT_TEST(a_403_of_a_server_that_starts_is_retried_soon);
  CPPUNIT_TEST(objects_listed_before_a_403_are_kept);
  CPPUNIT_TEST(a_watch_with_a_403_is_retried_slowly);
  CPPUNIT_TEST(streaming_lists_are_optional_as_well);
  CPPUNIT_TEST(other_failures_are_retried_as_usual);
  CPPUNIT_TEST(slow_retries_are_jittered);
  CPPUNIT_TEST_SUITE_END();

  void service_cidrs_are_listed_and_watched() {
    CidrWorld world;
    world.list_kubernetes();
    CPPUNIT_ASSERT_EQUAL(kV1 + "limit=500&resourceVersion=0", world.transport.last_asked());
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text());
    world.answer(ReflectorWorld::event("ADDED", CidrWorld::object("more")) +
                 ReflectorWorld::event("DELETED", CidrWorld::object("kubernetes")));
    CPPUNIT_ASSERT(world.asked(kV1 + "watch=true&resourceVersion=10"));
    CPPUNIT_ASSERT_EQUAL(std::string("upsert ServiceCIDR more, remove ServiceCIDR kubernetes"),
                         world.events.take_text());
    CPPUNIT_ASSERT(world.logged().empty());
  }

  void an_older_server_has_v1beta1() {
    CidrWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404));
    world.list_kubernetes();
    CPPUNIT_ASSERT(world.asked(kOlder));
    world.answer("");
    CPPUNIT_ASSERT(world.asked(kOlder + "watch=true"));
    CPPUNIT_ASSERT(world.logged().empty());
    CPPUNIT_ASSERT(!world.reflector.status().absent);
    // An upgrade removes the older version.
    world.answer(ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")), 2s);
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404));
    world.list_kubernetes();
    CPPUNIT_ASSERT(world.asked(kV1));
    CPPUNIT_ASSERT(world.logged().empty());
  }

  void a_server_without_service_cidrs_is_retried_slowly() {
    CidrWorld world;
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404, "404 page not found"));
      CPPUNIT_ASSERT(world.asked(kV1));
      CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(404, "404 page not found"));
      CPPUNIT_ASSERT(world.asked(kOlder));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    const auto logged = world.logged();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), logged.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("INFO sluice.kube list servicecidrs: the API server https://api does not have any; "
                    "packets to cluster IPs that no Service has are not dropped"),
        logged[0]);
    const auto status = world.reflector.status();
    CPPUNIT_ASSERT(status.absent && !status.connected && status.errors == 0);
  }

  void an_upgraded_server_is_detected() {
    CidrWorld world;
    world.refuse(404);
    world.refuse(404);
    world.events.take();
    world.list_kubernetes();
    CPPUNIT_ASSERT(world.asked(kV1));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text());
    world.answer("");
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube watch servicecidrs: works now"), world.logged().back());
    CPPUNIT_ASSERT(!world.reflector.status().absent);
  }

  void a_server_that_loses_service_cidrs_has_none() {
    CidrWorld world;
    world.list_kubernetes();
    world.events.take();
    // The watch. If only the list is offered, lists are not repeated without delay.
    CPPUNIT_ASSERT_EQUAL(800L, world.refuse(404));
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(404));
    CPPUNIT_ASSERT(world.asked(kOlder));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    CPPUNIT_ASSERT(world.reflector.status().absent);
  }

  void a_403_is_logged_once_with_the_rule_and_does_not_block_the_sync() {
    CidrWorld world;
    world.refuse_until_slow();
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403, ReflectorWorld::status(403, "Forbidden", "no")));
      CPPUNIT_ASSERT(world.asked(kV1));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    const auto logged = world.logged();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), logged.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("WARN sluice.kube list servicecidrs: the API server https://api answers 403 Forbidden: \"no\"; "
                    "packets to cluster IPs that no Service has are not dropped; grant what ClusterRole "
                    "system:node-proxier grants, apiGroups: [networking.k8s.io], resources: [servicecidrs], verbs: "
                    "[list, watch]; retrying every 5 minutes"),
        logged[0]);
    CPPUNIT_ASSERT(!world.reflector.status().absent);
    CPPUNIT_ASSERT(world.reflector.status().last_error.find("servicecidrs") != std::string::npos);
    world.list_kubernetes();
    world.answer("");
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube watch servicecidrs: works now"), world.logged().back());
  }

  // An API server answers 403 for about a second after its start.
  void a_403_of_a_server_that_starts_is_retried_soon() {
    CidrWorld world;
    for (int restart = 0; restart < 7; ++restart) {
      CPPUNIT_ASSERT(world.refuse(403) < kSeldom);
      world.list_kubernetes();
      world.answer(ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")), 2s);
    }
    for (const std::string& line : world.logged()) CPPUNIT_ASSERT(line.find("grant") == std::string::npos);
  }

  void objects_listed_before_a_403_are_kept() {
    CidrWorld world;
    world.list_kubernetes();
    world.events.take();
    world.answer(ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")), 2s);
    world.refuse_until_slow();
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403));
    CPPUNIT_ASSERT_EQUAL(std::string(), world.events.take_text());
  }

  void a_watch_with_a_403_is_retried_slowly() {
    CidrWorld world;
    for (int i = 0; i < 3; ++i) {
      world.list_kubernetes();
      CPPUNIT_ASSERT(world.refuse(403) < kSeldom);
    }
    for (int i = 0; i < 3; ++i) {
      world.list_kubernetes();
      CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403));
    }
    const auto logged = world.logged();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), logged.size());
    CPPUNIT_ASSERT(logged[0].find("resources: [servicecidrs], verbs: [list, watch]") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text().substr(0, 65));
  }

  void streaming_lists_are_optional_as_well() {
    CidrWorld world(true);
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404));
    CPPUNIT_ASSERT(world.asked(kV1) && world.asked("sendInitialEvents"));
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(404));
    CPPUNIT_ASSERT(world.asked(kOlder) && world.asked("sendInitialEvents"));
    world.refuse_until_slow();
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    world.answer(ReflectorWorld::event("ADDED", CidrWorld::object("kubernetes")) +
                 ReflectorWorld::initial_events_end("10"));
    CPPUNIT_ASSERT(world.asked(kV1) && world.asked("sendInitialEvents"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text());
  }

  void other_failures_are_retried_as_usual() {
    CidrWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.refuse(500));
    CPPUNIT_ASSERT_EQUAL(1600L, world.refuse(401));
    CPPUNIT_ASSERT_EQUAL(std::string(), world.events.take_text());
    world.list_kubernetes();
  }

  void slow_retries_are_jittered() {
    CidrWorld world;
    world.refuse_until_slow();
    world.random = 0.5;
    CPPUNIT_ASSERT_EQUAL(kSeldom + 30'000, world.refuse(403));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorServiceCidrsTest);

}  // namespace reflector_service_cidrs_test
}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ServiceCIDRs: a server may have them in an older version or not at all, and may not show them.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include "test/unit/kube/reflector_world.hpp"

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
  void list_kubernetes() {
    transport.expect_list(cidr_list(object("kubernetes")));
    CPPUNIT_ASSERT_EQUAL(0L, step());
  }
};

class ReflectorServiceCidrsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReflectorServiceCidrsTest);
  CPPUNIT_TEST(they_are_listed_and_watched);
  CPPUNIT_TEST(an_older_server_has_them_in_an_older_version);
  CPPUNIT_TEST(a_server_without_them_has_none_and_is_asked_seldom);
  CPPUNIT_TEST(a_server_that_gets_them_is_noticed);
  CPPUNIT_TEST(a_server_that_loses_them_has_none);
  CPPUNIT_TEST(a_denial_names_the_rule_once_and_nobody_waits);
  CPPUNIT_TEST(what_was_listed_before_a_denial_stays);
  CPPUNIT_TEST(a_denied_watch_is_asked_for_seldom);
  CPPUNIT_TEST(streams_are_done_without_alike);
  CPPUNIT_TEST(other_failures_are_retried_as_ever);
  CPPUNIT_TEST(the_next_time_is_not_the_same_for_all_nodes);
  CPPUNIT_TEST_SUITE_END();

  void they_are_listed_and_watched() {
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
    CPPUNIT_ASSERT(world.told().empty());
  }

  void an_older_server_has_them_in_an_older_version() {
    CidrWorld world;
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404));
    world.list_kubernetes();
    CPPUNIT_ASSERT(world.asked(kOlder));
    world.answer("");
    CPPUNIT_ASSERT(world.asked(kOlder + "watch=true"));
    CPPUNIT_ASSERT(world.told().empty());
    CPPUNIT_ASSERT(!world.reflector.status().absent);
    // The version goes away with an upgrade.
    world.answer(ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")), 2s);
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404));
    world.list_kubernetes();
    CPPUNIT_ASSERT(world.asked(kV1));
    CPPUNIT_ASSERT(world.told().empty());
  }

  void a_server_without_them_has_none_and_is_asked_seldom() {
    CidrWorld world;
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404, "404 page not found"));
      CPPUNIT_ASSERT(world.asked(kV1));
      CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(404, "404 page not found"));
      CPPUNIT_ASSERT(world.asked(kOlder));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    const auto told = world.told();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), told.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("INFO sluice.kube list servicecidrs: the API server https://api does not have any; "
                    "packets to cluster IPs that no Service has are not dropped"),
        told[0]);
    const auto status = world.reflector.status();
    CPPUNIT_ASSERT(status.absent && !status.connected && status.errors == 0);
  }

  void a_server_that_gets_them_is_noticed() {
    CidrWorld world;
    world.refuse(404);
    world.refuse(404);
    world.events.take();
    world.list_kubernetes();
    CPPUNIT_ASSERT(world.asked(kV1));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text());
    world.answer("");
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube watch servicecidrs: works now"), world.told().back());
    CPPUNIT_ASSERT(!world.reflector.status().absent);
  }

  void a_server_that_loses_them_has_none() {
    CidrWorld world;
    world.list_kubernetes();
    world.events.take();
    // The watch; one that is not offered where the list is does not make a storm of lists.
    CPPUNIT_ASSERT_EQUAL(800L, world.refuse(404));
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(404));
    CPPUNIT_ASSERT(world.asked(kOlder));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    CPPUNIT_ASSERT(world.reflector.status().absent);
  }

  void a_denial_names_the_rule_once_and_nobody_waits() {
    CidrWorld world;
    for (int i = 0; i < 3; ++i) {
      CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403, ReflectorWorld::status(403, "Forbidden", "no")));
      CPPUNIT_ASSERT(world.asked(kV1));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    const auto told = world.told();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), told.size());
    CPPUNIT_ASSERT_EQUAL(
        std::string("WARN sluice.kube list servicecidrs: the API server https://api answers 403 Forbidden: \"no\"; "
                    "packets to cluster IPs that no Service has are not dropped; grant what ClusterRole "
                    "system:node-proxier grants, apiGroups: [networking.k8s.io], resources: [servicecidrs], verbs: "
                    "[list, watch]; asked again every 5 minutes"),
        told[0]);
    CPPUNIT_ASSERT(!world.reflector.status().absent);
    CPPUNIT_ASSERT(world.reflector.status().last_error.find("servicecidrs") != std::string::npos);
    world.list_kubernetes();
    world.answer("");
    CPPUNIT_ASSERT_EQUAL(std::string("INFO sluice.kube watch servicecidrs: works now"), world.told().back());
  }

  void what_was_listed_before_a_denial_stays() {
    CidrWorld world;
    world.list_kubernetes();
    world.events.take();
    world.answer(ReflectorWorld::event("ERROR", ReflectorWorld::status(410, "Expired")), 2s);
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403));
    CPPUNIT_ASSERT_EQUAL(std::string(), world.events.take_text());
  }

  void a_denied_watch_is_asked_for_seldom() {
    CidrWorld world;
    for (int i = 0; i < 3; ++i) {
      world.list_kubernetes();
      CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403));
    }
    const auto told = world.told();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), told.size());
    CPPUNIT_ASSERT(told[0].find("resources: [servicecidrs], verbs: [list, watch]") != std::string::npos);
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text().substr(0, 65));
  }

  void streams_are_done_without_alike() {
    CidrWorld world(true);
    CPPUNIT_ASSERT_EQUAL(0L, world.refuse(404));
    CPPUNIT_ASSERT(world.asked(kV1) && world.asked("sendInitialEvents"));
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(404));
    CPPUNIT_ASSERT(world.asked(kOlder) && world.asked("sendInitialEvents"));
    CPPUNIT_ASSERT_EQUAL(kSeldom, world.refuse(403));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, end ServiceCIDR"), world.events.take_text());
    world.answer(ReflectorWorld::event("ADDED", CidrWorld::object("kubernetes")) +
                 ReflectorWorld::initial_events_end("10"));
    CPPUNIT_ASSERT(world.asked(kV1) && world.asked("sendInitialEvents"));
    CPPUNIT_ASSERT_EQUAL(std::string("begin ServiceCIDR, upsert ServiceCIDR kubernetes, end ServiceCIDR"),
                         world.events.take_text());
  }

  void other_failures_are_retried_as_ever() {
    CidrWorld world;
    CPPUNIT_ASSERT_EQUAL(800L, world.refuse(500));
    CPPUNIT_ASSERT_EQUAL(1600L, world.refuse(401));
    CPPUNIT_ASSERT_EQUAL(std::string(), world.events.take_text());
    world.list_kubernetes();
  }

  void the_next_time_is_not_the_same_for_all_nodes() {
    CidrWorld world;
    world.random = 0.5;
    CPPUNIT_ASSERT_EQUAL(kSeldom + 30'000, world.refuse(403));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReflectorServiceCidrsTest);

}  // namespace reflector_service_cidrs_test
}  // namespace sluice::kube

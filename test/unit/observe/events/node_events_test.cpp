// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/events/node_events.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::observe {
namespace node_events_test {

class NodeEventsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NodeEventsTest);
  CPPUNIT_TEST(ipvs_mode_is_reported_as_deprecated_like_kube_proxy_does);
  CPPUNIT_TEST(a_port_that_is_not_programmed_is_an_event_of_its_service);
  CPPUNIT_TEST_SUITE_END();

 public:
  void ipvs_mode_is_reported_as_deprecated_like_kube_proxy_does() {  // BEH 11.8
    const auto event = deprecation_event("n", config::mode_facts("ipvs"));
    CPPUNIT_ASSERT_EQUAL(std::string("IPVSDeprecation"), event.reason);
    CPPUNIT_ASSERT_EQUAL(
        std::string("ipvs mode is deprecated in Kubernetes since 1.35; kube-proxy turns it off in 1.40 "
                    "and removes it in 1.43. sluiced continues to support it, and can switch a node to "
                    "another mode at any time"),
        event.note);
    CPPUNIT_ASSERT_EQUAL(std::string("StartKubeProxy"), event.action);
    CPPUNIT_ASSERT(event.type == kube::ClusterEvent::Type::warning);
    CPPUNIT_ASSERT(event.regarding == kube::Regarding::node("n"));
  }

  void a_port_that_is_not_programmed_is_an_event_of_its_service() {
    const auto event = not_programmed_event("iptables", {{"shop", "cart", "http"}, "too long", 0});
    CPPUNIT_ASSERT((event.regarding == kube::Regarding::service("shop", "cart")));
    CPPUNIT_ASSERT_EQUAL(std::string("backend iptables did not program shop/cart:http: too long"), event.note);
    CPPUNIT_ASSERT(
        (backend_event("n", "b", abi::Severity::kInfo, "R", "m", {}).regarding == kube::Regarding::node("n")));
    CPPUNIT_ASSERT(
        (backend_event("n", "b", abi::Severity::kInfo, "R", "m", plugin::ServicePortName{"shop", "cart", "http"})
             .regarding == kube::Regarding::service("shop", "cart")));
    CPPUNIT_ASSERT((not_programmed_event("b", {{"shop", "cart", ""}, "m", 0}).regarding ==
                    kube::Regarding::service("shop", "cart")));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NodeEventsTest);

}  // namespace node_events_test
}  // namespace sluice::observe

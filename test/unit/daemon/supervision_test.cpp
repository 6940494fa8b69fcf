// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/supervision.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::daemon {
namespace supervision_test {

class SupervisionTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SupervisionTest);
  CPPUNIT_TEST(status_while_waiting_for_the_source);
  CPPUNIT_TEST(status_while_waiting_for_pod_cidrs);
  CPPUNIT_TEST(status_before_the_first_sync);
  CPPUNIT_TEST(status_after_a_sync_has_generations);
  CPPUNIT_TEST(status_reports_errors_instead_of_generations);
  CPPUNIT_TEST(an_overdue_call_stops_the_watchdog);
  CPPUNIT_TEST(status_is_a_single_line);
  CPPUNIT_TEST_SUITE_END();

  Supervised now_;

  static Supervised::PerFamily family(lib::Family which, std::uint64_t generation) {
    Supervised::PerFamily out{which, {}, {}};
    out.loop.synced = generation != 0;
    out.loop.generation = generation;
    return out;
  }
  void assert_line(const std::string& expected) const { CPPUNIT_ASSERT_EQUAL(expected, status_line(now_)); }

 public:
  void setUp() override {
    now_.source = "the API server https://10.0.0.1:6443";
    now_.store.synced = true;
    now_.store.facts_known = true;
    now_.store.service_ports[0] = 12;
    now_.store.service_ports[1] = 8;
    now_.families = {family(lib::Family::ipv4, 3), family(lib::Family::ipv6, 2)};
  }

  void status_while_waiting_for_the_source() {
    now_.store.synced = false;
    now_.store.facts_known = false;
    assert_line("waiting for the API server https://10.0.0.1:6443");
  }
  void status_while_waiting_for_pod_cidrs() {
    now_.store.facts_known = false;
    assert_line("waiting for spec.podCIDRs of this node");
  }
  void status_before_the_first_sync() {
    now_.families = {family(lib::Family::ipv4, 0)};
    assert_line("IPv4: writing rules");
  }
  void status_after_a_sync_has_generations() {
    assert_line("IPv4: generation 3, 12 service ports; IPv6: generation 2, 8 service ports");
  }
  void status_reports_errors_instead_of_generations() {
    now_.families[0].loop.last_error = "iptables-restore failed";
    now_.families[1].overdue = "apply";
    assert_line("IPv4: iptables-restore failed; IPv6: apply takes longer than its limit");
  }
  void an_overdue_call_stops_the_watchdog() {
    CPPUNIT_ASSERT(alive(now_));
    now_.families[0].loop.last_error = "iptables-restore failed";
    CPPUNIT_ASSERT(alive(now_));
    now_.families[1].overdue = "apply";
    CPPUNIT_ASSERT(!alive(now_));
  }
  void status_is_a_single_line() {
    now_.families = {family(lib::Family::ipv4, 1)};
    now_.families[0].loop.last_error = "line 1\nREADY=1";
    assert_line("IPv4: line 1 READY=1");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SupervisionTest);

}  // namespace supervision_test
}  // namespace sluice::daemon

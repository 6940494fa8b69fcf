// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Retries and metrics after service ports were refused or the lock was held.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/iptables/refusal.hpp"

namespace sluice::test {
namespace backend_refusal_pace_test {

constexpr char kFailures[] = "kubeproxy_sync_proxy_rules_iptables_restore_failures_total{ip_family=\"IPv4\"}";
constexpr char kPartial[] = "kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family=\"IPv4\"}";

class RefusalPaceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(RefusalPaceTest);
  CPPUNIT_TEST(changed_service_port_is_retried);
  CPPUNIT_TEST(removed_service_port_is_not_retried);
  CPPUNIT_TEST(failed_restores_are_counted);
  CPPUNIT_TEST(lock_waits_are_counted_and_logged);
  CPPUNIT_TEST_SUITE_END();

  void changed_service_port_is_retried() {
    IptablesRig rig;
    auto services = many_services(3, 2);
    rig.kernel.refuse = {services[1].endpoints[1].address + " -j KUBE-MARK-MASQ"};
    ok(rig.full(services));
    is_not_programmed(rig, {1});
    services[1].endpoints.pop_back();
    ok(rig.delta({services[1]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.host.not_programmed());
    CPPUNIT_ASSERT_EQUAL(content_of(services), content(rig));
  }

  void removed_service_port_is_not_retried() {
    IptablesRig rig;
    const auto services = many_services(3, 2);
    rig.kernel.refuse = {own_rule(1)};
    ok(rig.full(services));
    ok(rig.delta({}, {services[1]}));
    CPPUNIT_ASSERT(rig.kernel.restores.empty());
  }

  // Case 98, first half. The second half, a full transaction after a failure, is tested in the core.
  void failed_restores_are_counted() {
    IptablesRig rig;
    const auto services = many_services(3, 2);
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("exported from the start", 0.0, rig.host.metrics.at(kFailures));
    rig.kernel.refuse = {own_rule(1)};
    ok(rig.delta(services));
    CPPUNIT_ASSERT_EQUAL(1.0, rig.host.metrics.at(kFailures));
    CPPUNIT_ASSERT_EQUAL(1.0, rig.host.metrics.at(kPartial));
    ok(rig.full(services));
    CPPUNIT_ASSERT_EQUAL(2.0, rig.host.metrics.at(kFailures));
    CPPUNIT_ASSERT_EQUAL(1.0, rig.host.metrics.at(kPartial));
    rig.kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(3.0, rig.host.metrics.at(kFailures));
  }

  void lock_waits_are_counted_and_logged() {
    const std::string waits = "sluice_iptables_lock_wait_seconds_total{ip_family=\"IPv4\"}";
    const std::string timeouts = "sluice_iptables_lock_timeouts_total{ip_family=\"IPv4\"}";
    IptablesRig rig;
    rig.kernel.use_legacy();
    rig.kernel.lock_wait = std::chrono::milliseconds(250);
    ok(rig.full({}));
    CPPUNIT_ASSERT_EQUAL(0.25, rig.host.metrics.at(waits));
    rig.kernel.lock_wait = std::chrono::milliseconds(1500);
    ok(rig.delta(many_services(1, 1)));
    CPPUNIT_ASSERT_EQUAL(1.75, rig.host.metrics.at(waits));
    CPPUNIT_ASSERT_EQUAL(std::string("waited 1.5 s for the xtables lock, which another program held"),
                         rig.host.lines.back().second);
    CPPUNIT_ASSERT_EQUAL(0.0, rig.host.metrics.at(timeouts));
    rig.kernel.lock_wait = std::chrono::milliseconds(5000);
    rig.kernel.fail_next = 4;
    CPPUNIT_ASSERT(rig.delta(many_services(2, 1)) == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(1.0, rig.host.metrics.at(timeouts));
    CPPUNIT_ASSERT_EQUAL(6.75, rig.host.metrics.at(waits));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RefusalPaceTest);

}  // namespace backend_refusal_pace_test
}  // namespace sluice::test

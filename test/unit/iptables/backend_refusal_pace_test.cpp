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

  static void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }

  void changed_service_port_is_retried() {
    Bench bench;
    auto services = many_services(3, 2);
    bench.kernel.refuse = {services[1].endpoints[1].address + " -j KUBE-MARK-MASQ"};
    ok(bench.full(services));
    is_not_programmed(bench, {1});
    services[1].endpoints.pop_back();
    ok(bench.delta({services[1]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, bench.host.not_programmed());
    CPPUNIT_ASSERT_EQUAL(content_of(services), content(bench));
  }

  void removed_service_port_is_not_retried() {
    Bench bench;
    const auto services = many_services(3, 2);
    bench.kernel.refuse = {own_rule(1)};
    ok(bench.full(services));
    ok(bench.delta({}, {services[1]}));
    CPPUNIT_ASSERT(bench.kernel.restores.empty());
  }

  // Case 98, first half. The second half, a full transaction after a failure, is tested in the core.
  void failed_restores_are_counted() {
    Bench bench;
    const auto services = many_services(3, 2);
    ok(bench.full({}));
    CPPUNIT_ASSERT(!bench.host.metrics.contains(kFailures));
    bench.kernel.refuse = {own_rule(1)};
    ok(bench.delta(services));
    CPPUNIT_ASSERT_EQUAL(1.0, bench.host.metrics.at(kFailures));
    CPPUNIT_ASSERT_EQUAL(1.0, bench.host.metrics.at(kPartial));
    ok(bench.full(services));
    CPPUNIT_ASSERT_EQUAL(2.0, bench.host.metrics.at(kFailures));
    CPPUNIT_ASSERT_EQUAL(1.0, bench.host.metrics.at(kPartial));
    bench.kernel.fail_next = 4;
    CPPUNIT_ASSERT(bench.full(services) == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(3.0, bench.host.metrics.at(kFailures));
  }

  void lock_waits_are_counted_and_logged() {
    const std::string waits = "sluice_iptables_lock_wait_seconds_total{ip_family=\"IPv4\"}";
    const std::string timeouts = "sluice_iptables_lock_timeouts_total{ip_family=\"IPv4\"}";
    Bench bench;
    bench.kernel.use_legacy();
    bench.kernel.lock_wait = std::chrono::milliseconds(250);
    ok(bench.full({}));
    CPPUNIT_ASSERT_EQUAL(0.25, bench.host.metrics.at(waits));
    bench.kernel.lock_wait = std::chrono::milliseconds(1500);
    ok(bench.delta(many_services(1, 1)));
    CPPUNIT_ASSERT_EQUAL(1.75, bench.host.metrics.at(waits));
    CPPUNIT_ASSERT_EQUAL(std::string("waited 1.5 s for the xtables lock, which another program held"),
                         bench.host.lines.back().second);
    CPPUNIT_ASSERT(!bench.host.metrics.contains(timeouts));
    bench.kernel.lock_wait = std::chrono::milliseconds(5000);
    bench.kernel.fail_next = 4;
    CPPUNIT_ASSERT(bench.delta(many_services(2, 1)) == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(1.0, bench.host.metrics.at(timeouts));
    CPPUNIT_ASSERT_EQUAL(6.75, bench.host.metrics.at(waits));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(RefusalPaceTest);

}  // namespace backend_refusal_pace_test
}  // namespace sluice::test

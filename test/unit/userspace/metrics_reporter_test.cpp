// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/metrics_reporter.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/patience.hpp"
#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::userspace {
namespace metrics_reporter_test {

using namespace std::chrono_literals;

RelaySettings two_threads() {
  RelaySettings settings;
  settings.threads = 2;
  return settings;
}

class MetricsReporterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(MetricsReporterTest);
  CPPUNIT_TEST(one_family_reports_the_engine);
  CPPUNIT_TEST(engines_are_summed_up);
  CPPUNIT_TEST(each_family_reports_its_own_metrics);
  CPPUNIT_TEST(metrics_are_reported_periodically);
  CPPUNIT_TEST(counters_of_two_plugin_copies_add_up);
  CPPUNIT_TEST(the_last_counts_are_reported_at_the_end);
  CPPUNIT_TEST(one_backend_reports_gauges);
  CPPUNIT_TEST(a_reporter_that_yielded_does_not_report_engines);
  CPPUNIT_TEST_SUITE_END();

  static constexpr const char* kAccepted = "sluice_userspace_connections_accepted_total{}";
  std::shared_ptr<Engine> engine_;
  test::RelayHost v4_host_;
  test::RelayHost v6_host_;

 public:
  // CppUnit keeps fixtures until all tests have run; tearDown() ends the threads earlier.
  void setUp() override { engine_ = std::make_shared<Engine>(two_threads()); }
  void tearDown() override { engine_ = nullptr; }

 private:
  std::unique_ptr<MetricsReporter> reporter(test::RelayHost& host, abi::Family family) {
    return std::make_unique<MetricsReporter>(sdk::Metrics(&host, family), engine_, 1h);
  }

  void one_family_reports_the_engine() {
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    auto v6 = reporter(v6_host_, abi::Family::kIpv6);
    CPPUNIT_ASSERT(v4->is_leader());
    CPPUNIT_ASSERT(!v6->is_leader());
    engine_->statistics()[0]->accepted.add(3);
    engine_->statistics()[1]->accepted.add(4);
    v4->report();
    v6->report();
    CPPUNIT_ASSERT_EQUAL(7.0, v4_host_.served().at(kAccepted));
    CPPUNIT_ASSERT(!v6_host_.served().contains(kAccepted));
    v4 = nullptr;
    CPPUNIT_ASSERT(v6->is_leader());
    // The daemon is the same for both and has counted the seven already.
    engine_->statistics()[1]->accepted.add(5);
    v6->report();
    CPPUNIT_ASSERT_EQUAL(5.0, v6_host_.served().at(kAccepted));
  }

  void engines_are_summed_up() {
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    engine_->statistics()[0]->udp_clients.add(2);
    engine_ = std::make_shared<Engine>(two_threads());
    auto v6 = reporter(v6_host_, abi::Family::kIpv6);
    engine_->statistics()[1]->udp_clients.add(3);
    v4->report();
    CPPUNIT_ASSERT_EQUAL(5.0, v4_host_.served().at("sluice_userspace_udp_clients{}"));
  }

  void each_family_reports_its_own_metrics() {
    auto v6 = reporter(v6_host_, abi::Family::kIpv6);
    const auto listener = std::make_shared<Listener>("a/b", abi::Protocol::kTcp, abi::Family::kIpv6,
                                                     ListenerKind::kCluster, BalancerSettings(), 1);
    listener->balancer().set_affinity(100);
    const SocketAddress endpoint(abi::Family::kIpv6, test::loopback(abi::Family::kIpv6), 80);
    listener->balancer().set_endpoints({&endpoint, 1});
    listener->balancer().next(test::loopback(abi::Family::kIpv6), 1);
    v6->add(listener);
    v6->set_portals(7, 2, 1);
    v6->report();
    auto served = v6_host_.served();
    CPPUNIT_ASSERT_EQUAL(7.0, served.at("sluice_userspace_portals{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(2.0, served.at("sluice_userspace_claims{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, served.at("sluice_userspace_claim_conflicts{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, served.at("sluice_userspace_affinity_clients{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(0.0, served.at("sluice_userspace_endpoints_passed_over{ip_family=\"IPv6\"}"));
    v6->remove(listener);
    v6->report();
    CPPUNIT_ASSERT_EQUAL(0.0, v6_host_.served().at("sluice_userspace_affinity_clients{ip_family=\"IPv6\"}"));
  }

  void metrics_are_reported_periodically() {
    const MetricsReporter reporter(sdk::Metrics(&v4_host_, abi::Family::kIpv4), engine_, 1ms);
    engine_->statistics()[0]->accepted.add(5);
    const auto is_reported = [&] {
      const auto served = v4_host_.served();
      const auto found = served.find(kAccepted);
      return found != served.end() && found->second == 5;
    };
    CPPUNIT_ASSERT(test::wait_until(is_reported));
  }

  // The daemon adds the increments of two copies of the plugin.
  void counters_of_two_plugin_copies_add_up() {
    v4_host_.metric(abi::MetricKind::kCounterAdd, sdk::view("sluice_userspace_connections_accepted_total"), {}, 100);
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    engine_->statistics()[0]->accepted.add(3);
    v4->report();
    v4->report();
    CPPUNIT_ASSERT_EQUAL(103.0, v4_host_.served().at(kAccepted));
  }

  void the_last_counts_are_reported_at_the_end() {
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    // Reports once by itself in this test.
    CPPUNIT_ASSERT(test::wait_until([&] { return v4_host_.served().contains("sluice_userspace_udp_errors_total{}"); }));
    engine_->statistics()[0]->accepted.add(3);
    CPPUNIT_ASSERT_EQUAL(0.0, v4_host_.served().at(kAccepted));
    v4 = nullptr;
    CPPUNIT_ASSERT_EQUAL(3.0, v4_host_.served().at(kAccepted));
  }

  void one_backend_reports_gauges() {
    constexpr const char* kPortals = "sluice_userspace_portals{ip_family=\"IPv4\"}";
    MetricsReporter new_reporter(sdk::Metrics(&v4_host_, abi::Family::kIpv4), engine_, 1h, true);
    new_reporter.set_portals(9, 0, 0);
    new_reporter.report();
    CPPUNIT_ASSERT(!v4_host_.served().contains(kPortals));
    CPPUNIT_ASSERT(!v4_host_.served().contains("sluice_userspace_connections{}"));
    CPPUNIT_ASSERT(v4_host_.served().contains(kAccepted));
    MetricsReporter old(sdk::Metrics(&v4_host_, abi::Family::kIpv4), engine_, 1h);
    old.set_portals(7, 0, 0);
    old.report();
    CPPUNIT_ASSERT_EQUAL(7.0, v4_host_.served().at(kPortals));
    old.yield();
    old.set_portals(0, 0, 0);
    old.report();
    CPPUNIT_ASSERT_EQUAL(7.0, v4_host_.served().at(kPortals));
    MetricsReporter quick(sdk::Metrics(&v4_host_, abi::Family::kIpv4), engine_, 1ms, true);
    quick.set_portals(8, 0, 0);
    CPPUNIT_ASSERT(test::wait_until([&] { return v4_host_.served().at(kPortals) == 8; }));
  }

  void a_reporter_that_yielded_does_not_report_engines() {
    auto old = reporter(v4_host_, abi::Family::kIpv4);
    const std::shared_ptr<Engine> of_old = engine_;
    engine_ = std::make_shared<Engine>(two_threads());
    auto new_reporter = reporter(v6_host_, abi::Family::kIpv6);
    CPPUNIT_ASSERT(old->is_leader());
    old->yield();
    CPPUNIT_ASSERT(new_reporter->is_leader());
    // Reports once by itself in this test.
    CPPUNIT_ASSERT(
        test::wait_until([&] { return v6_host_.served().contains("sluice_userspace_portals{ip_family=\"IPv6\"}"); }));
    engine_->statistics()[0]->open.add(2);
    new_reporter->report();
    CPPUNIT_ASSERT_EQUAL(2.0, v6_host_.served().at("sluice_userspace_connections{}"));
    of_old->statistics()[0]->accepted.add(4);
    old = nullptr;
    CPPUNIT_ASSERT_EQUAL(4.0, v4_host_.served().at(kAccepted));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricsReporterTest);

}  // namespace metrics_reporter_test
}  // namespace sluice::userspace

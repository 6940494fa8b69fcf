// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/metrics_reporter.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "test/unit/patience.hpp"
#include "test/unit/userspace/backend_bench.hpp"

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
  CPPUNIT_TEST(one_family_speaks_for_the_engine);
  CPPUNIT_TEST(engines_are_summed_up);
  CPPUNIT_TEST(a_family_tells_what_is_its_own);
  CPPUNIT_TEST(it_tells_by_itself);
  CPPUNIT_TEST(two_of_one_name_add_up);
  CPPUNIT_TEST(what_was_counted_last_is_told);
  CPPUNIT_TEST(gauges_are_told_by_one);
  CPPUNIT_TEST(figures_of_engines_are_told_by_who_has_not_yielded);
  CPPUNIT_TEST_SUITE_END();

  static constexpr const char* kAccepted = "sluice_userspace_connections_accepted_total{}";
  std::shared_ptr<Engine> engine_;
  test::RelayHost v4_host_;
  test::RelayHost v6_host_;

 public:
  // Fixtures live until all tests have run; threads are not to.
  void setUp() override { engine_ = std::make_shared<Engine>(two_threads()); }
  void tearDown() override { engine_ = nullptr; }

 private:
  std::unique_ptr<MetricsReporter> reporter(test::RelayHost& host, abi::Family family) {
    return std::make_unique<MetricsReporter>(host, family, engine_, 1h);
  }

  void one_family_speaks_for_the_engine() {
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    auto v6 = reporter(v6_host_, abi::Family::kIpv6);
    CPPUNIT_ASSERT(v4->leads());
    CPPUNIT_ASSERT(!v6->leads());
    engine_->statistics()[0]->accepted.add(3);
    engine_->statistics()[1]->accepted.add(4);
    v4->report();
    v6->report();
    CPPUNIT_ASSERT_EQUAL(7.0, v4_host_.served().at(kAccepted));
    CPPUNIT_ASSERT(!v6_host_.served().contains(kAccepted));
    v4 = nullptr;
    CPPUNIT_ASSERT(v6->leads());
    // The daemon, one and the same for both, has the seven already.
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

  void a_family_tells_what_is_its_own() {
    auto v6 = reporter(v6_host_, abi::Family::kIpv6);
    const auto face = std::make_shared<Face>("a/b", abi::Protocol::kTcp, abi::Family::kIpv6, FaceKind::kCluster,
                                             BalancerSettings(), 1);
    face->balancer().set_affinity(100);
    const SocketAddress endpoint(abi::Family::kIpv6, test::loopback(abi::Family::kIpv6), 80);
    face->balancer().set_endpoints({&endpoint, 1});
    face->balancer().next(test::loopback(abi::Family::kIpv6), 1);
    v6->add(face);
    v6->set_portals(7, 2, 1);
    v6->report();
    auto served = v6_host_.served();
    CPPUNIT_ASSERT_EQUAL(7.0, served.at("sluice_userspace_portals{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(2.0, served.at("sluice_userspace_claims{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, served.at("sluice_userspace_claim_conflicts{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, served.at("sluice_userspace_affinity_clients{ip_family=\"IPv6\"}"));
    CPPUNIT_ASSERT_EQUAL(0.0, served.at("sluice_userspace_endpoints_passed_over{ip_family=\"IPv6\"}"));
    v6->remove(face);
    v6->report();
    CPPUNIT_ASSERT_EQUAL(0.0, v6_host_.served().at("sluice_userspace_affinity_clients{ip_family=\"IPv6\"}"));
  }

  void it_tells_by_itself() {
    const MetricsReporter reporter(v4_host_, abi::Family::kIpv4, engine_, 1ms);
    engine_->statistics()[0]->accepted.add(5);
    const auto told = [&] {
      const auto served = v4_host_.served();
      const auto found = served.find(kAccepted);
      return found != served.end() && found->second == 5;
    };
    CPPUNIT_ASSERT(test::wait_until(told));
  }

  // As of two copies of the plugin: a daemon adds what both tell.
  void two_of_one_name_add_up() {
    v4_host_.metric(abi::MetricKind::kCounterAdd, sdk::view("sluice_userspace_connections_accepted_total"), {}, 100);
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    engine_->statistics()[0]->accepted.add(3);
    v4->report();
    v4->report();
    CPPUNIT_ASSERT_EQUAL(103.0, v4_host_.served().at(kAccepted));
  }

  void what_was_counted_last_is_told() {
    auto v4 = reporter(v4_host_, abi::Family::kIpv4);
    // By itself it tells once in this test.
    CPPUNIT_ASSERT(test::wait_until([&] { return v4_host_.served().contains("sluice_userspace_udp_errors_total{}"); }));
    engine_->statistics()[0]->accepted.add(3);
    CPPUNIT_ASSERT_EQUAL(0.0, v4_host_.served().at(kAccepted));
    v4 = nullptr;
    CPPUNIT_ASSERT_EQUAL(3.0, v4_host_.served().at(kAccepted));
  }

  void gauges_are_told_by_one() {
    constexpr const char* kPortals = "sluice_userspace_portals{ip_family=\"IPv4\"}";
    MetricsReporter newcomer(v4_host_, abi::Family::kIpv4, engine_, 1h, true);
    newcomer.set_portals(9, 0, 0);
    newcomer.report();
    CPPUNIT_ASSERT(!v4_host_.served().contains(kPortals));
    CPPUNIT_ASSERT(!v4_host_.served().contains("sluice_userspace_connections{}"));
    CPPUNIT_ASSERT(v4_host_.served().contains(kAccepted));
    MetricsReporter old(v4_host_, abi::Family::kIpv4, engine_, 1h);
    old.set_portals(7, 0, 0);
    old.report();
    CPPUNIT_ASSERT_EQUAL(7.0, v4_host_.served().at(kPortals));
    old.yield();
    old.set_portals(0, 0, 0);
    old.report();
    CPPUNIT_ASSERT_EQUAL(7.0, v4_host_.served().at(kPortals));
    MetricsReporter quick(v4_host_, abi::Family::kIpv4, engine_, 1ms, true);
    quick.set_portals(8, 0, 0);
    CPPUNIT_ASSERT(test::wait_until([&] { return v4_host_.served().at(kPortals) == 8; }));
  }

  void figures_of_engines_are_told_by_who_has_not_yielded() {
    auto old = reporter(v4_host_, abi::Family::kIpv4);
    const std::shared_ptr<Engine> of_old = engine_;
    engine_ = std::make_shared<Engine>(two_threads());
    auto newcomer = reporter(v6_host_, abi::Family::kIpv6);
    CPPUNIT_ASSERT(old->leads());
    old->yield();
    CPPUNIT_ASSERT(newcomer->leads());
    // By itself it tells once in this test.
    CPPUNIT_ASSERT(
        test::wait_until([&] { return v6_host_.served().contains("sluice_userspace_portals{ip_family=\"IPv6\"}"); }));
    engine_->statistics()[0]->open.add(2);
    newcomer->report();
    CPPUNIT_ASSERT_EQUAL(2.0, v6_host_.served().at("sluice_userspace_connections{}"));
    of_old->statistics()[0]->accepted.add(4);
    old = nullptr;
    CPPUNIT_ASSERT_EQUAL(4.0, v4_host_.served().at(kAccepted));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(MetricsReporterTest);

}  // namespace metrics_reporter_test
}  // namespace sluice::userspace

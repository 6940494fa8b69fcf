// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/start_trace.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "test/unit/sync/fake_clock.hpp"

namespace sluice::observe {
namespace start_trace_test {

using lib::Family;
using model::ResourceKind;
using namespace std::chrono_literals;

class StartTraceTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StartTraceTest);
  CPPUNIT_TEST(phases_sum_up_to_the_whole_when_the_lists_take_longer);
  CPPUNIT_TEST(phases_sum_up_to_the_whole_when_the_backend_takes_longer);
  CPPUNIT_TEST(every_family_must_have_synced);
  CPPUNIT_TEST(the_start_is_reported_once);
  CPPUNIT_TEST(only_the_attempt_that_succeeds_is_an_apply);
  CPPUNIT_TEST(a_list_that_came_after_the_first_transaction_is_no_phase);
  CPPUNIT_TEST(relists_and_later_answers_do_not_count);
  CPPUNIT_TEST_SUITE_END();

  void after(lib::Clock::Duration time) { clock_.advance(time); }

  void begin() {
    after(1ms);
    trace_.configured();
    after(2ms);
    trace_.prepared();
  }

  void list_all() {
    for (const ResourceKind kind : model::kResourceKinds) trace_.listed(kind);
  }

  void serve(Family family) {
    trace_.taken(family);
    after(30ms);
    trace_.applied(family);
  }

  // In milliseconds; -1 if there is no such phase.
  long phase(const std::string& name) const {
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), reports_.size());
    const auto& all = reports_.front().phases;
    const auto found = std::find_if(all.begin(), all.end(), [&](const StartPhase& one) { return one.name == name; });
    return found == all.end() ? -1 : std::lround(1000 * found->seconds);
  }

  void expect_sum(long whole) {
    const long longest_list = std::max({phase("list_services"), phase("list_endpoint_slices"), phase("list_nodes"),
                                        phase("list_service_cidrs")});
    CPPUNIT_ASSERT_EQUAL(whole, std::lround(1000 * reports_.front().whole_seconds));
    CPPUNIT_ASSERT_EQUAL(whole, phase("configuration") + phase("preparation") +
                                    std::max(phase("backend_load") + phase("backend_probe"),
                                             phase("connection") + longest_list) +
                                    phase("store") + phase("first_apply"));
  }

 public:
  void phases_sum_up_to_the_whole_when_the_lists_take_longer() {
    begin();
    after(3ms);
    trace_.backend_loaded();
    after(4ms);
    trace_.answered();
    after(1ms);
    trace_.listed(ResourceKind::node);
    after(5ms);
    trace_.backend_ready({Family::ipv4});
    after(6ms);
    trace_.listed(ResourceKind::service);
    trace_.listed(ResourceKind::service_cidr);
    after(7ms);
    trace_.listed(ResourceKind::endpoint_slice);
    after(8ms);
    serve(Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(1L, phase("configuration"));
    CPPUNIT_ASSERT_EQUAL(2L, phase("preparation"));
    CPPUNIT_ASSERT_EQUAL(3L, phase("backend_load"));
    CPPUNIT_ASSERT_EQUAL(10L, phase("backend_probe"));
    CPPUNIT_ASSERT_EQUAL(7L, phase("connection"));
    CPPUNIT_ASSERT_EQUAL(1L, phase("list_nodes"));
    CPPUNIT_ASSERT_EQUAL(12L, phase("list_services"));
    CPPUNIT_ASSERT_EQUAL(12L, phase("list_service_cidrs"));
    CPPUNIT_ASSERT_EQUAL(19L, phase("list_endpoint_slices"));
    CPPUNIT_ASSERT_EQUAL(8L, phase("store"));
    CPPUNIT_ASSERT_EQUAL(30L, phase("first_apply"));
    expect_sum(67);
  }

  void phases_sum_up_to_the_whole_when_the_backend_takes_longer() {
    begin();
    after(1ms);
    trace_.answered();
    after(1ms);
    list_all();
    after(20ms);
    trace_.backend_loaded();
    after(40ms);
    trace_.backend_ready({Family::ipv4});
    after(5ms);
    serve(Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(5L, phase("store"));
    expect_sum(100);
  }

  void every_family_must_have_synced() {
    begin();
    trace_.answered();
    list_all();
    trace_.backend_ready({Family::ipv4, Family::ipv6});
    trace_.taken(Family::ipv4);
    after(1ms);
    serve(Family::ipv6);
    CPPUNIT_ASSERT(reports_.empty());
    after(10ms);
    trace_.applied(Family::ipv4);
    // The families apply at the same time: the phase begins with the last transaction.
    CPPUNIT_ASSERT_EQUAL(40L, phase("first_apply"));
    CPPUNIT_ASSERT_EQUAL(1L, phase("store"));
    expect_sum(44);
  }

  void the_start_is_reported_once() {
    begin();
    trace_.answered();
    list_all();
    trace_.backend_ready({Family::ipv4});
    serve(Family::ipv4);
    serve(Family::ipv4);
    serve(Family::ipv6);
    CPPUNIT_ASSERT_EQUAL(30L, phase("first_apply"));
  }

  void only_the_attempt_that_succeeds_is_an_apply() {
    begin();
    trace_.answered();
    list_all();
    trace_.backend_ready({Family::ipv4});
    trace_.taken(Family::ipv4);
    after(50ms);
    serve(Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(50L, phase("store"));
    CPPUNIT_ASSERT_EQUAL(30L, phase("first_apply"));
    expect_sum(83);
  }

  // The store does not wait for ServiceCIDRs forever.
  void a_list_that_came_after_the_first_transaction_is_no_phase() {
    begin();
    trace_.answered();
    for (const ResourceKind kind : {ResourceKind::service, ResourceKind::endpoint_slice, ResourceKind::node})
      trace_.listed(kind);
    trace_.backend_ready({Family::ipv4});
    after(1s);
    trace_.taken(Family::ipv4);
    after(1ms);
    trace_.listed(ResourceKind::service_cidr);
    after(1ms);
    trace_.applied(Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(-1L, phase("list_service_cidrs"));
    CPPUNIT_ASSERT_EQUAL(1000L, phase("store"));
    expect_sum(1005);
  }

  void relists_and_later_answers_do_not_count() {
    begin();
    trace_.answered();
    after(5ms);
    list_all();
    after(5ms);
    trace_.answered();
    list_all();
    trace_.backend_ready({Family::ipv4});
    serve(Family::ipv4);
    CPPUNIT_ASSERT_EQUAL(0L, phase("connection"));
    CPPUNIT_ASSERT_EQUAL(5L, phase("list_services"));
    expect_sum(43);
  }

 private:
  test::FakeClock clock_;
  std::vector<StartReport> reports_;
  StartTrace trace_{clock_, clock_.now(), [this](const StartReport& report) { reports_.push_back(report); }};
};

CPPUNIT_TEST_SUITE_REGISTRATION(StartTraceTest);

}  // namespace start_trace_test
}  // namespace sluice::observe

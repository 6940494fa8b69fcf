// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/cleanup/startup_cleanup.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <future>
#include <memory>

namespace sluice::app {
namespace {

using base::Family;
using namespace std::chrono_literals;

// Stands in for the removers: counts calls, and fails as often as it is told.
struct Removers {
  std::atomic<int> calls{0};
  std::atomic<int> failures{0};
  std::promise<void> called;
  std::atomic<bool> kept{false};

  StartupCleanup::Options options(std::chrono::milliseconds retry_after) {
    return {retry_after, [this](const Selection& selection, const std::function<bool()>&) {
              Removal out;
              if (failures-- > 0) out.failures.push_back("no");
              kept = !selection.chain(Family::ipv6, "nat", "KUBE-LOAD-BALANCER");
              if (++calls == 1) called.set_value();
              return out;
            }};
  }
  bool was_called() { return called.get_future().wait_for(10s) == std::future_status::ready; }
};

class CleanupAtStartTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupAtStartTest);
  CPPUNIT_TEST(waits_for_every_family);
  CPPUNIT_TEST(claims_of_the_backend_are_kept);
  CPPUNIT_TEST(a_failure_is_tried_again_once);
  CPPUNIT_TEST(other_backends_remove_nothing);
  CPPUNIT_TEST(stopping_does_not_wait_for_the_second_try);
  CPPUNIT_TEST_SUITE_END();

 public:
  void waits_for_every_family() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options(1ms));
    cleanup.expect({Family::ipv4, Family::ipv6});
    cleanup.stands(Family::ipv4, {});
    cleanup.stands(Family::ipv4, {});
    CPPUNIT_ASSERT_EQUAL(0, removers.calls.load());
    cleanup.stands(Family::ipv6, {});
    CPPUNIT_ASSERT(removers.was_called());
    cleanup.stands(Family::ipv6, {});
    cleanup.stop();
    CPPUNIT_ASSERT_EQUAL(1, removers.calls.load());
  }

  void claims_of_the_backend_are_kept() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options(1ms));
    cleanup.expect({Family::ipv6});
    cleanup.stands(Family::ipv6, {"iptables/nat/KUBE-LOAD-BALANCER"});
    CPPUNIT_ASSERT(removers.was_called());
    cleanup.stop();
    CPPUNIT_ASSERT(removers.kept);
  }

  void a_failure_is_tried_again_once() {
    Removers removers;
    removers.failures = 5;
    {
      StartupCleanup cleanup("iptables", removers.options(1ms));
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      for (int i = 0; i < 1000 && removers.calls < 2; ++i) std::this_thread::sleep_for(10ms);
    }
    CPPUNIT_ASSERT_EQUAL(2, removers.calls.load());
  }

  void other_backends_remove_nothing() {
    Removers removers;
    {
      StartupCleanup cleanup("com.example.dpu", removers.options(1ms));
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
    }
    CPPUNIT_ASSERT_EQUAL(0, removers.calls.load());
  }

  void stopping_does_not_wait_for_the_second_try() {
    Removers removers;
    removers.failures = 1;
    {
      StartupCleanup cleanup("nftables", removers.options(1h));
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      CPPUNIT_ASSERT(removers.was_called());
    }
    CPPUNIT_ASSERT_EQUAL(1, removers.calls.load());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupAtStartTest);

}  // namespace
}  // namespace sluice::app

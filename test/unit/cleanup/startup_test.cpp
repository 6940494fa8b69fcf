// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>
#include <future>
#include <memory>

#include "core/cleanup/startup_cleanup.hpp"
#include "test/unit/patience.hpp"

namespace sluice::cleanup {
namespace startup_test {

using base::Family;
using namespace std::chrono_literals;

// Stands in for the removers and the node: notes what it may remove, and fails as often as it is told.
struct Removers {
  std::atomic<int> failures{0};
  std::atomic<std::size_t> connections{0};
  std::atomic<bool> slow{false};  // a removal goes on until it is to stop

  StartupCleanup::Options options(std::chrono::milliseconds retry_after = 1ms) {
    StartupCleanup::Options out;
    out.retry_after = retry_after;
    out.look_every = 1ms;
    out.remove = [this](const Selection& selection, const std::function<bool()>& stopped) {
      note((selection.virtual_servers() ? "servers " : "") +
           std::string(selection.chain(Family::ipv6, "nat", "KUBE-LOAD-BALANCER") ? "chain6 " : "") +
           (selection.chain(Family::ipv4, "nat", "KUBE-NODEPORTS") ? "chain4 " : "") +
           (selection.set("OLD-SET") ? "old-set " : ""));
      while (slow && !stopped()) std::this_thread::sleep_for(1ms);  // poll interval
      Removal removed;
      if (failures-- > 0) removed.failures.push_back("no");
      return removed;
    };
    out.connections = [this] { return connections.load(); };
    out.removed = [this](const Absent& gone) { note("gone " + gone.backend + " "); };
    return out;
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex);
    noted.push_back(what.substr(0, what.size() - (what.empty() ? 0 : 1)));
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return noted;
  }
  void wait_for(std::size_t count) {
    const bool reached = test::wait_until([&] { return all().size() >= count; });
    CPPUNIT_ASSERT_MESSAGE(text(), reached);
  }
  std::string text() {
    std::string out;
    for (const auto& one : all()) out += one + "; ";
    return out;
  }

  std::mutex mutex;
  std::vector<std::string> noted;
};

Absent by(Absent::By by, const char* backend, ownership::Artifacts artifacts, std::chrono::seconds drain = 0s) {
  Absent out;
  out.backend = backend;
  out.by = by;
  out.artifacts = std::move(artifacts);
  out.drain = drain;
  return out;
}

class CleanupAtStartTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CleanupAtStartTest);
  CPPUNIT_TEST(waits_for_every_family);
  CPPUNIT_TEST(claims_of_the_backend_are_kept);
  CPPUNIT_TEST(a_failure_is_tried_again_once);
  CPPUNIT_TEST(other_backends_remove_nothing);
  CPPUNIT_TEST(stopping_does_not_wait_for_the_second_try);
  CPPUNIT_TEST(what_somebody_drains_is_kept);
  CPPUNIT_TEST(what_nobody_can_retire_is_removed_and_told);
  CPPUNIT_TEST(what_failed_is_not_told_as_gone);
  CPPUNIT_TEST(what_no_remover_may_touch_is_not_told_as_gone);
  CPPUNIT_TEST(another_backend_removes_what_the_ledger_names_and_no_more);
  CPPUNIT_TEST(servers_stay_while_connections_go_through_them);
  CPPUNIT_TEST(servers_go_when_their_time_is_over);
  CPPUNIT_TEST(servers_of_a_known_backend_have_its_time);
  CPPUNIT_TEST(servers_that_are_kept_are_not_waited_for);
  CPPUNIT_TEST(stopping_does_not_wait_for_connections);
  CPPUNIT_TEST(what_a_newcomer_claims_is_kept_at_any_time);
  CPPUNIT_TEST_SUITE_END();

 public:
  void waits_for_every_family() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.expect({Family::ipv4, Family::ipv6});
    cleanup.stands(Family::ipv4, {});
    cleanup.stands(Family::ipv4, {});
    std::this_thread::sleep_for(20ms);  // fixed time: nothing is removed before the other family is synced
    CPPUNIT_ASSERT(removers.all().empty());
    cleanup.stands(Family::ipv6, {});
    removers.wait_for(1);
    cleanup.stands(Family::ipv6, {});
    cleanup.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("servers chain6; "), removers.text());
  }

  void claims_of_the_backend_are_kept() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.expect({Family::ipv6});
    cleanup.stands(Family::ipv6, {"iptables/nat/KUBE-LOAD-BALANCER"});
    removers.wait_for(1);
    CPPUNIT_ASSERT_EQUAL(std::string("servers; "), removers.text());
  }

  void a_failure_is_tried_again_once() {
    Removers removers;
    removers.failures = 5;
    {
      StartupCleanup cleanup("iptables", removers.options());
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      removers.wait_for(2);
      std::this_thread::sleep_for(20ms);  // fixed time: there is no third try
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, removers.all().size());
  }

  void other_backends_remove_nothing() {
    Removers removers;
    {
      StartupCleanup cleanup("com.example.dpu", removers.options());
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      std::this_thread::sleep_for(20ms);  // fixed time: nothing is removed
    }
    CPPUNIT_ASSERT(removers.all().empty());
  }

  void stopping_does_not_wait_for_the_second_try() {
    Removers removers;
    removers.failures = 1;
    {
      StartupCleanup cleanup("nftables", removers.options(1h));
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      removers.wait_for(1);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, removers.all().size());
  }

  void what_somebody_drains_is_kept() {
    Removers removers;
    StartupCleanup cleanup("nftables", removers.options());
    Absent drains = by(Absent::By::plugin, "ipvs", {"ipvs/virtual-servers", "ip6tables/nat/KUBE-LOAD-BALANCER"});
    drains.family = Family::ipv6;
    cleanup.absent({drains});
    cleanup.expect({Family::ipv4});
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(1);
    cleanup.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("chain4; "), removers.text());
  }

  void what_nobody_can_retire_is_removed_and_told() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.absent({by(Absent::By::remover, "com.example.old", {"ipset/OLD-SET"})});
    cleanup.expect({Family::ipv4});
    CPPUNIT_ASSERT(removers.all().empty());
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("servers chain6 old-set; gone com.example.old; "), removers.text());
  }

  void what_failed_is_not_told_as_gone() {
    Removers removers;
    removers.failures = 2;
    {
      StartupCleanup cleanup("iptables", removers.options());
      cleanup.absent({by(Absent::By::remover, "com.example.old", {"ipset/OLD-SET"})});
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      removers.wait_for(2);
      std::this_thread::sleep_for(20ms);  // fixed time: no removal is reported
    }
    CPPUNIT_ASSERT_EQUAL(std::string("servers chain6 old-set; servers chain6 old-set; "), removers.text());
  }

  void what_no_remover_may_touch_is_not_told_as_gone() {
    Removers removers;
    {
      StartupCleanup cleanup("iptables", removers.options());
      cleanup.absent({by(Absent::By::remover, "com.example.dpu", {"ipset/OLD-SET", "dpu/table-7"}),
                      by(Absent::By::remover, "com.example.old", {"ipset/OTHER-SET"})});
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      removers.wait_for(2);
      std::this_thread::sleep_for(20ms);  // fixed time: no other removal is reported
    }
    CPPUNIT_ASSERT_EQUAL(std::string("servers chain6 old-set; gone com.example.old; "), removers.text());
  }

  void another_backend_removes_what_the_ledger_names_and_no_more() {
    Removers removers;
    StartupCleanup cleanup("com.example.dpu", removers.options());
    cleanup.absent({by(Absent::By::remover, "com.example.old", {"ipset/OLD-SET"})});
    cleanup.expect({Family::ipv4});
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("old-set; gone com.example.old; "), removers.text());
  }

  void servers_stay_while_connections_go_through_them() {
    Removers removers;
    removers.connections = 3;
    auto options = removers.options();
    options.drain = 1h;
    StartupCleanup cleanup("iptables", options);
    cleanup.expect({Family::ipv4});
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(1);
    std::this_thread::sleep_for(30ms);                               // fixed time: the servers are not removed
    CPPUNIT_ASSERT_EQUAL(std::string("chain6; "), removers.text());  // what leads nobody there goes at once
    removers.connections = 0;
    removers.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("chain6; servers chain6; "), removers.text());
  }

  void servers_go_when_their_time_is_over() {
    Removers removers;
    removers.connections = 3;
    auto options = removers.options();
    options.drain = 50ms;
    options.look_every = 1h;
    StartupCleanup cleanup("iptables", options);
    cleanup.expect({Family::ipv4});
    const auto begin = std::chrono::steady_clock::now();
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(2);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= 50ms);
    CPPUNIT_ASSERT_EQUAL(std::string("chain6; servers chain6; "), removers.text());
    // Without time nothing is waited for.
    options.drain = 0ms;
    StartupCleanup at_once("iptables", options);
    at_once.expect({Family::ipv4});
    at_once.stands(Family::ipv4, {});
    removers.wait_for(3);
    CPPUNIT_ASSERT_EQUAL(std::string("chain6; servers chain6; servers chain6; "), removers.text());
  }

  // It drained already when the last process ended.
  void servers_of_a_known_backend_have_its_time() {
    Removers removers;
    removers.connections = 3;
    auto options = removers.options();
    options.drain = 1h;
    StartupCleanup cleanup("iptables", options);
    cleanup.absent({by(Absent::By::remover, "ipvs", {"ipvs/virtual-servers"}, 0s)});
    cleanup.expect({Family::ipv4});
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(2);
    CPPUNIT_ASSERT_EQUAL(std::string("servers chain6; gone ipvs; "), removers.text());
  }

  void servers_that_are_kept_are_not_waited_for() {
    Removers removers;
    removers.connections = 3;
    auto options = removers.options();
    options.drain = 1h;
    StartupCleanup cleanup("iptables", options);
    cleanup.expect({Family::ipv4});
    cleanup.stands(Family::ipv4, {"ipvs/virtual-servers"});
    removers.wait_for(1);
    cleanup.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("chain6; "), removers.text());
  }

  void stopping_does_not_wait_for_connections() {
    Removers removers;
    removers.connections = 3;
    auto options = removers.options();
    options.drain = 1h;
    options.look_every = 1h;
    {
      StartupCleanup cleanup("iptables", options);
      cleanup.expect({Family::ipv4});
      cleanup.stands(Family::ipv4, {});
      removers.wait_for(1);
    }
    CPPUNIT_ASSERT_EQUAL(std::string("chain6; "), removers.text());
  }

  void what_a_newcomer_claims_is_kept_at_any_time() {
    Removers removers;
    removers.slow = true;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.expect({Family::ipv4});
    cleanup.stands(Family::ipv4, {});
    removers.wait_for(1);
    // The removal that goes on is cut short, and begins again with what is left of it.
    cleanup.keep(Family::ipv4, {"ipvs/virtual-servers"});
    removers.wait_for(2);
    removers.slow = false;
    cleanup.stop();
    CPPUNIT_ASSERT_EQUAL(std::string("servers chain6; chain6; "), removers.text());
    cleanup.keep(Family::ipv4, {"link/kube-ipvs0"});  // nothing goes on, nothing is waited for
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CleanupAtStartTest);

}  // namespace startup_test
}  // namespace sluice::cleanup

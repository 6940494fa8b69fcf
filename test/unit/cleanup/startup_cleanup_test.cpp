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
namespace startup_cleanup_test {

using lib::Family;
using namespace std::chrono_literals;

// Replaces the removers and the node: records what it may remove, and fails `failures` times.
struct Removers {
  std::atomic<int> failures{0};
  std::atomic<std::size_t> connections{0};
  std::atomic<bool> slow{false};  // a removal runs until it is interrupted

  StartupCleanup::Options options(std::chrono::milliseconds retry_after = 1ms) {
    StartupCleanup::Options out;
    out.retry_after = retry_after;
    out.check_interval = 1ms;
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
    out.removed = [this](const LeftoverBackend& gone) { note("removed " + gone.backend + " "); };
    return out;
  }
  // With connections, which delay the removal of virtual servers.
  StartupCleanup::Options draining() {
    connections = 3;
    StartupCleanup::Options out = options();
    out.drain = 1h;
    return out;
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex);
    recorded.push_back(what.substr(0, what.size() - (what.empty() ? 0 : 1)));
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex);
    return recorded;
  }
  void wait_for(std::size_t count) {
    const bool reached = test::wait_until([&] { return all().size() >= count; });
    CPPUNIT_ASSERT_MESSAGE(text(), reached);
  }
  void expect(const std::string& wanted) { CPPUNIT_ASSERT_EQUAL(wanted, text()); }
  std::string text() {
    std::string out;
    for (const auto& one : all()) out += one + "; ";
    return out;
  }

  std::mutex mutex;
  std::vector<std::string> recorded;
};

LeftoverBackend by(LeftoverBackend::By by, const char* backend, ownership::Artifacts artifacts, std::chrono::seconds drain = 0s) {
  LeftoverBackend out;
  out.backend = backend;
  out.by = by;
  out.artifacts = std::move(artifacts);
  out.drain = drain;
  return out;
}

// The only family is in sync; the active backend claims nothing.
void sync_ipv4(StartupCleanup& cleanup) {
  cleanup.expect({Family::ipv4});
  cleanup.family_synced(Family::ipv4, {});
}

class StartupCleanupTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(StartupCleanupTest);
  CPPUNIT_TEST(waits_for_every_family);
  CPPUNIT_TEST(keeps_the_claims_of_the_active_backend);
  CPPUNIT_TEST(retries_a_failed_removal_once);
  CPPUNIT_TEST(other_backends_remove_nothing);
  CPPUNIT_TEST(stopping_does_not_wait_for_the_second_try);
  CPPUNIT_TEST(keeps_the_state_of_a_draining_backend);
  CPPUNIT_TEST(removes_and_reports_a_backend_without_its_plugin);
  CPPUNIT_TEST(does_not_report_a_backend_whose_removal_failed);
  CPPUNIT_TEST(does_not_report_a_backend_with_artifacts_that_stay);
  CPPUNIT_TEST(another_backend_removes_only_what_the_ownership_ledger_lists);
  CPPUNIT_TEST(keeps_virtual_servers_while_they_have_connections);
  CPPUNIT_TEST(removes_virtual_servers_after_the_drain_timeout);
  CPPUNIT_TEST(uses_the_drain_time_of_a_recorded_backend);
  CPPUNIT_TEST(does_not_wait_for_connections_of_kept_virtual_servers);
  CPPUNIT_TEST(stopping_does_not_wait_for_connections);
  CPPUNIT_TEST(keeps_the_claims_of_a_new_backend_at_any_time);
  CPPUNIT_TEST_SUITE_END();

 public:
  void waits_for_every_family() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.expect({Family::ipv4, Family::ipv6});
    cleanup.family_synced(Family::ipv4, {});
    cleanup.family_synced(Family::ipv4, {});
    std::this_thread::sleep_for(20ms);  // fixed time: nothing is removed before the other family is synced
    CPPUNIT_ASSERT(removers.all().empty());
    cleanup.family_synced(Family::ipv6, {});
    removers.wait_for(1);
    cleanup.family_synced(Family::ipv6, {});
    cleanup.stop();
    removers.expect("servers chain6; ");
  }

  void keeps_the_claims_of_the_active_backend() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.expect({Family::ipv6});
    cleanup.family_synced(Family::ipv6, {"iptables/nat/KUBE-LOAD-BALANCER"});
    removers.wait_for(1);
    removers.expect("servers; ");
  }

  void retries_a_failed_removal_once() {
    Removers removers;
    removers.failures = 5;
    {
      StartupCleanup cleanup("iptables", removers.options());
      sync_ipv4(cleanup);
      removers.wait_for(2);
      std::this_thread::sleep_for(20ms);  // fixed time: there is no third try
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, removers.all().size());
  }

  void other_backends_remove_nothing() {
    Removers removers;
    {
      StartupCleanup cleanup("com.example.dpu", removers.options());
      sync_ipv4(cleanup);
      std::this_thread::sleep_for(20ms);  // fixed time: nothing is removed
    }
    CPPUNIT_ASSERT(removers.all().empty());
  }

  void stopping_does_not_wait_for_the_second_try() {
    Removers removers;
    removers.failures = 1;
    {
      StartupCleanup cleanup("nftables", removers.options(1h));
      sync_ipv4(cleanup);
      removers.wait_for(1);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, removers.all().size());
  }

  void keeps_the_state_of_a_draining_backend() {
    Removers removers;
    StartupCleanup cleanup("nftables", removers.options());
    LeftoverBackend drains = by(LeftoverBackend::By::plugin, "ipvs", {"ipvs/virtual-servers", "ip6tables/nat/KUBE-LOAD-BALANCER"});
    drains.family = Family::ipv6;
    cleanup.set_leftover_backends({drains});
    sync_ipv4(cleanup);
    removers.wait_for(1);
    cleanup.stop();
    removers.expect("chain4; ");
  }

  void removes_and_reports_a_backend_without_its_plugin() {
    Removers removers;
    StartupCleanup cleanup("iptables", removers.options());
    cleanup.set_leftover_backends({by(LeftoverBackend::By::remover, "com.example.old", {"ipset/OLD-SET"})});
    cleanup.expect({Family::ipv4});
    CPPUNIT_ASSERT(removers.all().empty());
    cleanup.family_synced(Family::ipv4, {});
    removers.wait_for(2);
    removers.expect("servers chain6 old-set; removed com.example.old; ");
  }

  void does_not_report_a_backend_whose_removal_failed() {
    Removers removers;
    removers.failures = 2;
    {
      StartupCleanup cleanup("iptables", removers.options());
      cleanup.set_leftover_backends({by(LeftoverBackend::By::remover, "com.example.old", {"ipset/OLD-SET"})});
      sync_ipv4(cleanup);
      removers.wait_for(2);
      std::this_thread::sleep_for(20ms);  // fixed time: no removal is reported
    }
    removers.expect("servers chain6 old-set; servers chain6 old-set; ");
  }

  void does_not_report_a_backend_with_artifacts_that_stay() {
    Removers removers;
    {
      StartupCleanup cleanup("iptables", removers.options());
      cleanup.set_leftover_backends({by(LeftoverBackend::By::remover, "com.example.dpu", {"ipset/OLD-SET", "dpu/table-7"}),
                                     by(LeftoverBackend::By::remover, "com.example.old", {"ipset/OTHER-SET"})});
      sync_ipv4(cleanup);
      removers.wait_for(2);
      std::this_thread::sleep_for(20ms);  // fixed time: no other removal is reported
    }
    removers.expect("servers chain6 old-set; removed com.example.old; ");
  }

  void another_backend_removes_only_what_the_ownership_ledger_lists() {
    Removers removers;
    StartupCleanup cleanup("com.example.dpu", removers.options());
    cleanup.set_leftover_backends({by(LeftoverBackend::By::remover, "com.example.old", {"ipset/OLD-SET"})});
    sync_ipv4(cleanup);
    removers.wait_for(2);
    removers.expect("old-set; removed com.example.old; ");
  }

  void keeps_virtual_servers_while_they_have_connections() {
    Removers removers;
    const auto options = removers.draining();
    StartupCleanup cleanup("iptables", options);
    sync_ipv4(cleanup);
    removers.wait_for(1);
    std::this_thread::sleep_for(30ms);  // fixed time: the servers are not removed
    removers.expect("chain6; ");  // rules that lead to no server are removed at once
    removers.connections = 0;
    removers.wait_for(2);
    removers.expect("chain6; servers chain6; ");
  }

  void removes_virtual_servers_after_the_drain_timeout() {
    Removers removers;
    removers.connections = 3;
    auto options = removers.options();
    options.drain = 50ms;
    options.check_interval = 1h;
    StartupCleanup cleanup("iptables", options);
    cleanup.expect({Family::ipv4});
    const auto begin = std::chrono::steady_clock::now();
    cleanup.family_synced(Family::ipv4, {});
    removers.wait_for(2);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin >= 50ms);
    removers.expect("chain6; servers chain6; ");
    // Without a drain time the removal does not wait.
    options.drain = 0ms;
    StartupCleanup at_once("iptables", options);
    at_once.expect({Family::ipv4});
    at_once.family_synced(Family::ipv4, {});
    removers.wait_for(3);
    removers.expect("chain6; servers chain6; servers chain6; ");
  }

  // The backend was draining already when the last process ended.
  void uses_the_drain_time_of_a_recorded_backend() {
    Removers removers;
    const auto options = removers.draining();
    StartupCleanup cleanup("iptables", options);
    cleanup.set_leftover_backends({by(LeftoverBackend::By::remover, "ipvs", {"ipvs/virtual-servers"}, 0s)});
    sync_ipv4(cleanup);
    removers.wait_for(2);
    removers.expect("servers chain6; removed ipvs; ");
  }

  void does_not_wait_for_connections_of_kept_virtual_servers() {
    Removers removers;
    const auto options = removers.draining();
    StartupCleanup cleanup("iptables", options);
    cleanup.expect({Family::ipv4});
    cleanup.family_synced(Family::ipv4, {"ipvs/virtual-servers"});
    removers.wait_for(1);
    cleanup.stop();
    removers.expect("chain6; ");
  }

  void stopping_does_not_wait_for_connections() {
    Removers removers;
    auto options = removers.draining();
    options.check_interval = 1h;
    {
      StartupCleanup cleanup("iptables", options);
      sync_ipv4(cleanup);
      removers.wait_for(1);
    }
    removers.expect("chain6; ");
  }

  void keeps_the_claims_of_a_new_backend_at_any_time() {
    Removers removers;
    removers.slow = true;
    StartupCleanup cleanup("iptables", removers.options());
    sync_ipv4(cleanup);
    removers.wait_for(1);
    // The running removal is interrupted and starts again without the kept artifacts.
    cleanup.keep(Family::ipv4, {"ipvs/virtual-servers"});
    removers.wait_for(2);
    removers.slow = false;
    cleanup.stop();
    removers.expect("servers chain6; chain6; ");
    cleanup.keep(Family::ipv4, {"link/kube-ipvs0"});  // no removal runs, so this does not block
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(StartupCleanupTest);

}  // namespace startup_cleanup_test
}  // namespace sluice::cleanup

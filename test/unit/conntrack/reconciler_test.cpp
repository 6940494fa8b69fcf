// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The thread: when it looks, what it remembers, and what it does when it cannot look.
#include "core/conntrack/reconciler.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "test/unit/conntrack/fakes.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::conntrack {
namespace reconciler_test {

using namespace std::chrono_literals;
using test::at;
using test::udp_key;
using test::udp_port;

// Counts visits and shows flows; the test looks on from another thread.
class WatchedTable : public ConntrackTable {
 public:
  struct Shared {
    std::mutex mutex;
    std::condition_variable moved;
    test::FakeConntrackTable table;
    bool blocked = false;
    std::size_t entered = 0;

    template <class Condition>
    bool wait(Condition condition) {
      std::unique_lock lock(mutex);
      return moved.wait_for(lock, test::stretched(30s), [&] { return condition(*this); });
    }
    template <class Action>
    void with(Action action) {
      const std::lock_guard lock(mutex);
      action(*this);
      moved.notify_all();
    }
  };

  explicit WatchedTable(Shared& shared) : shared_(shared) {}
  base::Status visit(base::Family family, const FlowQuery& query, const Visitor& visitor) override {
    std::unique_lock lock(shared_.mutex);
    ++shared_.entered;
    shared_.moved.notify_all();
    shared_.moved.wait(lock, [&] { return !shared_.blocked; });
    visiting_ = true;
    base::Status status = shared_.table.visit(family, query, visitor);
    visiting_ = false;
    return status;
  }
  FlowQuery askable(base::Family, const FlowQuery& query) const override { return query; }
  bool is_whole_cheaper(base::Family, std::size_t) const override { return false; }
  base::Result<std::size_t> remove(base::Family family, std::span<const Flow> flows) override {
    std::unique_lock lock(shared_.mutex, std::defer_lock);
    if (!visiting_) lock.lock();
    return shared_.table.remove(family, flows);
  }

 private:
  Shared& shared_;
  bool visiting_ = false;  // [thread of the reconciler] which then holds the lock
};

class ConntrackReconcilerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackReconcilerTest);
  CPPUNIT_TEST(it_looks_at_everything_once_at_the_start_and_then_at_little);
  CPPUNIT_TEST(without_udp_services_it_never_looks);
  CPPUNIT_TEST(putting_does_not_wait_for_a_look);
  CPPUNIT_TEST(a_second_full_state_looks_again_later);
  CPPUNIT_TEST(a_failure_is_tried_again);
  CPPUNIT_TEST(missing_privilege_is_no_storm);
  CPPUNIT_TEST(a_service_deleted_between_two_processes_is_noticed);
  CPPUNIT_TEST(an_entry_that_a_late_reply_created_is_removed);
  CPPUNIT_TEST(a_predecessor_keeps_its_flows_until_they_are_quiet);
  CPPUNIT_TEST(flows_of_a_predecessor_are_looked_at_often_enough);
  CPPUNIT_TEST(what_a_predecessor_leaves_goes_with_it);
  CPPUNIT_TEST(it_is_settled_once_the_flows_of_a_predecessor_are_deleted);
  CPPUNIT_TEST(the_last_scan_for_a_predecessor_does_not_wait);
  CPPUNIT_TEST(it_is_settled_if_the_kernel_denies_to_delete);
  CPPUNIT_TEST_SUITE_END();

  const base::SocketAddress vip_ = at("172.30.0.10", 53);
  const base::SocketAddress e1_ = at("10.180.0.1", 53);
  const base::SocketAddress e2_ = at("10.180.0.2", 53);
  std::optional<test::TemporaryFolder> folder_;
  std::optional<WatchedTable::Shared> shared_;
  std::size_t done_ = 0;  // under the mutex of shared_

  ConntrackReconciler::Options options() {
    ConntrackReconciler::Options out;
    out.memory_file = folder_->path("frontends");
    out.retry = 1ms;
    out.reconciled = [this](double, std::uint64_t) { shared_->with([&](auto&) { ++done_; }); };
    return out;
  }
  std::unique_ptr<ConntrackReconciler> start(ConntrackReconciler::Options with) {
    auto out = std::make_unique<ConntrackReconciler>(std::move(with), std::make_unique<WatchedTable>(*shared_));
    out->start();
    return out;
  }
  static UdpChange change(bool full, UdpPortPtr port) {
    UdpChange out;
    out.full = full;
    out.ports.emplace_back(udp_key("svc1"), std::move(port));
    return out;
  }
  bool reached(std::size_t passes) {
    return shared_->wait([&](auto&) { return done_ >= passes; });
  }

 public:
  void setUp() override {
    folder_.emplace();
    shared_.emplace();
    done_ = 0;
  }
  void tearDown() override {
    shared_.reset();
    folder_.reset();
  }

  void it_looks_at_everything_once_at_the_start_and_then_at_little() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e2_).id;
    const auto kept = shared_->table.add(at("10.0.0.2", 2), vip_, e1_).id;
    const auto reconciler = start(options());
    reconciler->put(change(false, udp_port({vip_}, 0, {})));  // before everything is known: no look
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(1));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(!s.table.has(stale) && s.table.has(kept)); });
    reconciler->put(change(false, udp_port({vip_}, 0, {e1_, e2_})));  // nothing can be stale
    reconciler->put(change(false, udp_port({vip_}, 0, {e2_})));
    CPPUNIT_ASSERT(reached(2));
    shared_->with([&](auto& s) {
      CPPUNIT_ASSERT(!s.table.has(kept));
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), s.table.visits_of_everything);
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), s.table.visits);
    });
  }

  void without_udp_services_it_never_looks() {
    {
      const auto reconciler = start(options());
      UdpChange nothing;
      nothing.full = true;
      reconciler->put(std::move(nothing));
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), shared_->entered);
  }

  void putting_does_not_wait_for_a_look() {
    shared_->blocked = true;
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    for (int i = 0; i < 1000; ++i) reconciler->put(change(false, udp_port({vip_}, 0, {i % 2 == 0 ? e2_ : e1_})));
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(reached(2));
    shared_->with([](auto& s) { CPPUNIT_ASSERT(s.entered <= 1 + 4); });
  }

  void a_second_full_state_looks_again_later() {
    auto with = options();
    with.between_full = 50ms;
    const auto reconciler = start(std::move(with));
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(1));
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(2));
    shared_->with([](auto& s) { CPPUNIT_ASSERT_EQUAL(std::size_t(2), s.table.visits_of_everything); });
  }

  void a_failure_is_tried_again() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e2_).id;
    shared_->table.failure = base::errno_status("reading", ENOBUFS);
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered >= 3; }));
    shared_->with([](auto& s) { s.table.failure = {}; });
    CPPUNIT_ASSERT(reached(1));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(!s.table.has(stale)); });
  }

  void missing_privilege_is_no_storm() {
    shared_->table.failure = base::errno_status("reading", EPERM);
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    for (int i = 0; i < 100; ++i) reconciler->put(change(false, udp_port({vip_}, 0, {i % 2 == 0 ? e2_ : e1_})));
    reconciler->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), shared_->entered);
  }

  void a_service_deleted_between_two_processes_is_noticed() {
    const auto flow = shared_->table.add(at("10.0.0.2", 1), vip_, e1_).id;
    const auto other = shared_->table.add(at("10.0.0.2", 1), at("172.30.0.11", 53), e1_).id;
    {
      const auto reconciler = start(options());
      reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
      CPPUNIT_ASSERT(reached(1));
    }
    CPPUNIT_ASSERT_EQUAL(std::string("sluice-udp-frontends 1\n172.30.0.10 53\n"), folder_->read("frontends"));
    const auto reconciler = start(options());
    UdpChange nothing;
    nothing.full = true;
    reconciler->put(std::move(nothing));
    CPPUNIT_ASSERT(reached(2));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(!s.table.has(flow) && s.table.has(other)); });
    reconciler->stop();
    CPPUNIT_ASSERT_EQUAL(std::string("sluice-udp-frontends 1\n"), folder_->read("frontends"));
  }

  // The reply arrives after the untranslated entry of its flow was removed.
  void an_entry_that_a_late_reply_created_is_removed() {
    const auto client = at("10.0.0.2", 1), other = at("10.0.0.2", 2);
    const auto lost = shared_->table.add(client, vip_, vip_).id;
    const auto translated = shared_->table.add(other, vip_, e2_).id;
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(lost) && !s.table.has(translated); }));
    std::uint32_t turned = 0, of_others = 0;
    shared_->with([&](auto& s) {
      turned = s.table.add(vip_, client, client).id;
      of_others = s.table.add(vip_, other, other).id;
    });
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(turned); }));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(of_others)); });
  }

  void a_predecessor_keeps_its_flows_until_they_are_quiet() {
    const auto here = at("192.168.0.2", 40001);
    const auto flow = [&](std::uint16_t client, const base::SocketAddress& answered_by) {
      auto& made = shared_->table.add(at("10.0.0.2", client), vip_, answered_by);
      made.remaining = 119;
      return made.id;
    };
    const auto busy = flow(1, here), quiet = flow(2, here), elsewhere = flow(3, at("192.168.0.2", 40002));
    auto with = options();
    with.between_looks = 5ms;
    const auto reconciler = start(std::move(with));
    reconciler->set_predecessor({true, {40001}});
    UdpChange all = change(true, udp_port({vip_}, 0, {e1_}));
    all.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{here.address}, false, {here.address}});
    reconciler->put(std::move(all));
    CPPUNIT_ASSERT(reached(3));
    shared_->with([&](auto& s) {
      CPPUNIT_ASSERT(s.table.has(busy) && s.table.has(quiet) && !s.table.has(elsewhere));
      for (Flow& one : s.table.flows) one.remaining = one.id == busy ? 118 : 117;
    });
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(quiet); }));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(busy)); });
    // There is no old backend any more: its last flow is removed, and then the table is no longer read.
    reconciler->set_predecessor({});
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(busy); }));
    std::size_t visits = 0;
    int unchanged = 0;
    CPPUNIT_ASSERT(test::wait_until([&] {
      shared_->with([&](auto& s) {
        unchanged = visits == s.table.visits ? unchanged + 1 : 0;
        visits = s.table.visits;
      });
      return unchanged >= 5;
    }));
    std::this_thread::sleep_for(100ms);  // fixed time: twenty times the interval of the scans, and none of them
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.visits <= visits + 1); });
  }

  // However long one scan takes: the drain of the old backend depends on it.
  void flows_of_a_predecessor_are_looked_at_often_enough() {
    // After a scan the thread always rests for twice the time of the scan, and would rest for nine times that time
    // without the option. A bound of real time, because rest costs no CPU time. A pause that a busy machine makes
    // counts less with a longer scan.
    auto rest = std::chrono::steady_clock::duration::max();
    auto scan = 400ms;
    for (int attempt = 0; attempt < 4 && rest >= 6 * scan; ++attempt) {
      if (attempt > 0) scan *= 2;
      rest = rest_after(scan);
    }
    CPPUNIT_ASSERT(rest < 6 * scan);
  }
  std::chrono::steady_clock::duration rest_after(std::chrono::milliseconds scan) {
    shared_.reset();
    shared_.emplace();
    auto with = options();
    with.longest_between_looks = 20ms;
    shared_->blocked = true;
    const auto reconciler = start(std::move(with));
    reconciler->set_predecessor({true, {}});
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    std::this_thread::sleep_for(scan);  // fixed time: the time of the scan
    const auto end = std::chrono::steady_clock::now();
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 2; }));
    return std::chrono::steady_clock::now() - end;
  }

  void it_is_settled_once_the_flows_of_a_predecessor_are_deleted() {
    const auto id = shared_->table.add(at("10.0.0.2", 1), vip_, at("192.168.0.2", 40001)).id;
    shared_->blocked = true;
    auto with = options();
    with.reconciled = [this](double, std::uint64_t) {
      shared_->with([&](auto& s) {
        if (done_++ == 0) s.table.failure = base::errno_status("reading", ENOBUFS);
      });
    };
    const auto reconciler = start(std::move(with));
    serve_after_predecessor(*reconciler);
    CPPUNIT_ASSERT(reconciler->settled());
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    // During a scan that began with the old backend. That scan does not count, nor do those that fail after it and one
    // that the kernel interrupts.
    reconciler->set_predecessor({});
    CPPUNIT_ASSERT(!reconciler->settled());
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered >= 4; }));
    CPPUNIT_ASSERT(!reconciler->settled());
    shared_->with([](auto& s) {
      s.table.failure = {};
      s.table.interruptions = kConntrackAttempts;
    });
    CPPUNIT_ASSERT(test::wait_until([&] { return reconciler->settled(); }));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(!s.table.has(id)); });
  }
  // With a flow that the old backend relays at port 40001.
  void serve_after_predecessor(ConntrackReconciler& reconciler) const {
    const auto here = at("192.168.0.2", 40001);
    reconciler.set_predecessor({true, {here.port}});
    UdpChange all = change(true, udp_port({vip_}, 0, {e1_}));
    all.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{here.address}, false, {here.address}});
    reconciler.put(std::move(all));
  }

  // The old backend waits for the scan.
  void the_last_scan_for_a_predecessor_does_not_wait() {
    auto scan = 400ms;
    auto rest = rest_before_last_scan(scan);
    for (int attempt = 0; attempt < 3 && rest >= scan; ++attempt) {
      scan *= 2;
      rest = rest_before_last_scan(scan);
    }
    CPPUNIT_ASSERT(rest < scan);  // it would be twice the time of the scan
  }
  std::chrono::steady_clock::duration rest_before_last_scan(std::chrono::milliseconds scan) {
    shared_.reset();
    shared_.emplace();
    shared_->blocked = true;
    const auto reconciler = start(options());
    serve_after_predecessor(*reconciler);
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    reconciler->set_predecessor({});
    std::this_thread::sleep_for(scan);  // fixed time: the time of the scan
    const auto end = std::chrono::steady_clock::now();
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 2; }));
    return std::chrono::steady_clock::now() - end;
  }

  void it_is_settled_if_the_kernel_denies_to_delete() {
    shared_->table.failure = base::errno_status("reading", EPERM);
    const auto reconciler = start(options());
    reconciler->set_predecessor({true, {40001}});
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    reconciler->set_predecessor({});
    CPPUNIT_ASSERT(test::wait_until([&] { return reconciler->settled(); }));
  }

  void what_a_predecessor_leaves_goes_with_it() {
    auto& through = shared_->table.add(at("10.0.0.2", 1), vip_, e1_);
    through.redirected = false;
    through.remaining = 119;
    const auto id = through.id;
    const auto right = shared_->table.add(at("10.0.0.2", 2), vip_, e1_).id;
    auto with = options();
    with.between_looks = 5ms;
    with.virtual_servers = [] { return std::optional<bool>(true); };
    const auto reconciler = start(std::move(with));
    reconciler->set_predecessor({true, {}});
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(5));
    shared_->with([&](auto& s) {
      CPPUNIT_ASSERT(s.table.has(id));
      s.table.failure = base::errno_status("reading", ENOBUFS);  // the last look has to be repeated
    });
    reconciler->set_predecessor({});
    // The first of two more scans may have begun before.
    std::size_t entered = 0;
    shared_->with([&](auto& s) { entered = s.entered; });
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return s.entered >= entered + 3; }));
    shared_->with([&](auto& s) {
      CPPUNIT_ASSERT(s.table.has(id));
      s.table.failure = {};
    });
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(id); }));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(right)); });
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackReconcilerTest);

}  // namespace reconciler_test
}  // namespace sluice::conntrack

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The thread: when it scans, what it stores, and how it handles failures.
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

// Counts dumps and returns flows; the test observes it from another thread.
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
  lib::Status dump(lib::Family family, const FlowQuery& query, const Visitor& visitor) override {
    std::unique_lock lock(shared_.mutex);
    ++shared_.entered;
    shared_.moved.notify_all();
    shared_.moved.wait(lock, [&] { return !shared_.blocked; });
    dumping_ = true;
    lib::Status status = shared_.table.dump(family, query, visitor);
    dumping_ = false;
    return status;
  }
  FlowQuery supported_query(lib::Family, const FlowQuery& query) const override { return query; }
  bool is_full_dump_cheaper(lib::Family, std::size_t) const override { return false; }
  lib::Result<std::size_t> remove(lib::Family family, std::span<const Flow> flows) override {
    std::unique_lock lock(shared_.mutex, std::defer_lock);
    if (!dumping_) lock.lock();
    return shared_.table.remove(family, flows);
  }

 private:
  Shared& shared_;
  bool dumping_ = false;  // [thread of the reconciler] it holds the lock then
};

class ConntrackReconcilerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackReconcilerTest);
  CPPUNIT_TEST(scans_all_flows_once_at_startup);
  CPPUNIT_TEST(never_scans_without_udp_services);
  CPPUNIT_TEST(put_does_not_block_for_a_scan);
  CPPUNIT_TEST(delays_the_scan_of_a_second_full_update);
  CPPUNIT_TEST(keeps_flows_to_an_endpoint_added_during_the_scan);
  CPPUNIT_TEST(work_of_changes_during_a_scan_is_done_by_the_next);
  CPPUNIT_TEST(removes_no_flow_during_a_write);
  CPPUNIT_TEST(a_statement_about_the_old_backend_during_a_scan_precedes_removals);
  CPPUNIT_TEST(retries_a_failed_scan);
  CPPUNIT_TEST(missing_privileges_do_not_cause_frequent_retries);
  CPPUNIT_TEST(removes_flows_of_a_service_deleted_between_two_processes);
  CPPUNIT_TEST(removes_an_entry_that_a_late_reply_created);
  CPPUNIT_TEST(keeps_flows_of_the_old_backend_until_they_are_quiet);
  CPPUNIT_TEST(scans_flows_of_the_old_backend_often_enough);
  CPPUNIT_TEST(short_scans_take_a_tenth_of_a_processor);
  CPPUNIT_TEST(removes_remaining_flows_when_the_old_backend_ends);
  CPPUNIT_TEST(is_settled_once_the_flows_of_the_old_backend_are_deleted);
  CPPUNIT_TEST(the_last_scan_for_the_old_backend_is_not_delayed);
  CPPUNIT_TEST(is_settled_if_the_kernel_denies_deletion);
  CPPUNIT_TEST_SUITE_END();

  const lib::SocketAddress vip_ = at("172.30.0.10", 53);
  const lib::SocketAddress e1_ = at("10.180.0.1", 53);
  const lib::SocketAddress e2_ = at("10.180.0.2", 53);
  const lib::SocketAddress e3_ = at("10.180.0.3", 53);
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
  bool reached(std::size_t scans) {
    return shared_->wait([&](auto&) { return done_ >= scans; });
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

  void scans_all_flows_once_at_startup() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e2_).id;
    const auto kept = shared_->table.add(at("10.0.0.2", 2), vip_, e1_).id;
    const auto reconciler = start(options());
    reconciler->put(change(false, udp_port({vip_}, 0, {})));  // before the first full update: no scan
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(1));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(!s.table.has(stale) && s.table.has(kept)); });
    reconciler->put(change(false, udp_port({vip_}, 0, {e1_, e2_})));  // no flow can become stale
    reconciler->put(change(false, udp_port({vip_}, 0, {e2_})));
    CPPUNIT_ASSERT(reached(2));
    shared_->with([&](auto& s) {
      CPPUNIT_ASSERT(!s.table.has(kept));
      CPPUNIT_ASSERT_EQUAL(std::size_t(1), s.table.full_dumps);
      CPPUNIT_ASSERT_EQUAL(std::size_t(2), s.table.dumps);
    });
  }

  void never_scans_without_udp_services() {
    {
      const auto reconciler = start(options());
      UdpChange nothing;
      nothing.full = true;
      reconciler->put(std::move(nothing));
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), shared_->entered);
  }

  void put_does_not_block_for_a_scan() {
    shared_->blocked = true;
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    for (int i = 0; i < 1000; ++i) reconciler->put(change(false, udp_port({vip_}, 0, {i % 2 == 0 ? e2_ : e1_})));
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(reached(2));
    shared_->with([](auto& s) { CPPUNIT_ASSERT(s.entered <= 1 + 4); });
  }

  void delays_the_scan_of_a_second_full_update() {
    auto with = options();
    with.full_scan_interval = 50ms;
    const auto reconciler = start(std::move(with));
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(1));
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(2));
    shared_->with([](auto& s) { CPPUNIT_ASSERT_EQUAL(std::size_t(2), s.table.full_dumps); });
  }

  void keeps_flows_to_an_endpoint_added_during_the_scan() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e3_).id;
    shared_->blocked = true;
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    reconciler->put(change(false, udp_port({vip_}, 0, {e1_, e2_})));
    std::uint32_t added = 0;
    shared_->with([&](auto& s) {
      added = s.table.add(at("10.0.0.2", 2), vip_, e2_).id;
      s.blocked = false;
    });
    CPPUNIT_ASSERT(reached(1));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(added) && !s.table.has(stale)); });
  }

  void work_of_changes_during_a_scan_is_done_by_the_next() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e3_).id;
    const auto left = shared_->table.add(at("10.0.0.2", 2), vip_, e1_).id;
    const auto reconciler = start(options());
    reconciler->set_writing(true);
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_, e2_})));
    // The scan has read all flows, of which `left` is valid, and waits before it removes the other one.
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.table.dumps == 1; }));
    reconciler->put(change(false, udp_port({vip_}, 0, {e2_})));
    reconciler->set_writing(false);
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(stale) && !s.table.has(left); }));
  }

  void removes_no_flow_during_a_write() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e3_).id;
    const auto kept = shared_->table.add(at("10.0.0.2", 2), vip_, e2_).id;
    const auto reconciler = start(options());
    reconciler->set_writing(true);
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.table.dumps == 1; }));
    std::this_thread::sleep_for(50ms);  // fixed time: the thread removes nothing meanwhile
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(stale) && s.table.has(kept)); });
    // The write had this result.
    reconciler->put(change(false, udp_port({vip_}, 0, {e1_, e2_})));
    reconciler->set_writing(false);
    CPPUNIT_ASSERT(reached(1));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(kept) && !s.table.has(stale)); });
    // stop() does not wait for the end of a write.
    reconciler->set_writing(true);
    shared_->with([&](auto& s) { s.table.add(at("10.0.0.2", 3), vip_, e1_); });
    reconciler->put(change(false, udp_port({vip_}, 0, {e2_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.table.dumps == 2; }));
    reconciler->stop();
  }

  void a_statement_about_the_old_backend_during_a_scan_precedes_removals() {
    const auto here = at("192.168.0.2", 40001);
    auto& relayed = shared_->table.add(at("10.0.0.2", 1), vip_, here);
    relayed.remaining = 119;
    const auto id = relayed.id;
    const auto stale = shared_->table.add(at("10.0.0.2", 2), vip_, e3_).id;
    shared_->blocked = true;
    const auto reconciler = start(options());
    UdpChange all = change(true, udp_port({vip_}, 0, {e1_}));
    all.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{here.address}, false, {here.address}});
    reconciler->put(std::move(all));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    reconciler->set_old_backends({true, {here.port}});
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(stale); }));
    CPPUNIT_ASSERT(reached(2));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(id)); });
  }

  void retries_a_failed_scan() {
    const auto stale = shared_->table.add(at("10.0.0.2", 1), vip_, e2_).id;
    shared_->table.failure = lib::errno_status("reading", ENOBUFS);
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered >= 3; }));
    shared_->with([](auto& s) { s.table.failure = {}; });
    CPPUNIT_ASSERT(reached(1));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(!s.table.has(stale)); });
  }

  void missing_privileges_do_not_cause_frequent_retries() {
    shared_->table.failure = lib::errno_status("reading", EPERM);
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    for (int i = 0; i < 100; ++i) reconciler->put(change(false, udp_port({vip_}, 0, {i % 2 == 0 ? e2_ : e1_})));
    reconciler->stop();
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), shared_->entered);
  }

  void removes_flows_of_a_service_deleted_between_two_processes() {
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
  void removes_an_entry_that_a_late_reply_created() {
    const auto client = at("10.0.0.2", 1), other = at("10.0.0.2", 2);
    const auto lost = shared_->table.add(client, vip_, vip_).id;
    const auto translated = shared_->table.add(other, vip_, e2_).id;
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(lost) && !s.table.has(translated); }));
    std::uint32_t reversed = 0, unrelated = 0;
    shared_->with([&](auto& s) {
      reversed = s.table.add(vip_, client, client).id;
      unrelated = s.table.add(vip_, other, other).id;
    });
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(reversed); }));
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.has(unrelated)); });
  }

  void keeps_flows_of_the_old_backend_until_they_are_quiet() {
    const auto here = at("192.168.0.2", 40001);
    const auto flow = [&](std::uint16_t client, const lib::SocketAddress& server) {
      auto& made = shared_->table.add(at("10.0.0.2", client), vip_, server);
      made.remaining = 119;
      return made.id;
    };
    const auto busy = flow(1, here), quiet = flow(2, here), elsewhere = flow(3, at("192.168.0.2", 40002));
    auto with = options();
    with.scan_interval = 5ms;
    const auto reconciler = start(std::move(with));
    reconciler->set_old_backends({true, {40001}});
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
    // The old backend has ended: its last flow is removed, and then the table is not read any more.
    reconciler->set_old_backends({});
    CPPUNIT_ASSERT(shared_->wait([&](auto& s) { return !s.table.has(busy); }));
    std::size_t dumps = 0;
    int unchanged = 0;
    CPPUNIT_ASSERT(test::wait_until([&] {
      shared_->with([&](auto& s) {
        unchanged = dumps == s.table.dumps ? unchanged + 1 : 0;
        dumps = s.table.dumps;
      });
      return unchanged >= 5;
    }));
    std::this_thread::sleep_for(100ms);  // fixed time: twenty times the interval of the scans, and none of them
    shared_->with([&](auto& s) { CPPUNIT_ASSERT(s.table.dumps <= dumps + 1); });
  }

  // However long one scan takes: the drain of the old backend depends on it.
  void scans_flows_of_the_old_backend_often_enough() {
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
    with.max_scan_interval = 20ms;
    shared_->blocked = true;
    const auto reconciler = start(std::move(with));
    reconciler->set_old_backends({true, {}});
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    std::this_thread::sleep_for(scan);  // fixed time: the time of the scan
    const auto end = std::chrono::steady_clock::now();
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 2; }));
    return std::chrono::steady_clock::now() - end;
  }

  void short_scans_take_a_tenth_of_a_processor() {
    shared_->blocked = true;
    const auto reconciler = start(options());
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    reconciler->put(change(false, udp_port({vip_}, 0, {e2_})));
    std::this_thread::sleep_for(10ms);  // fixed time: the least time of the scan
    const auto end = std::chrono::steady_clock::now();
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 2; }));
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - end >= 90ms);
  }

  void is_settled_once_the_flows_of_the_old_backend_are_deleted() {
    const auto id = shared_->table.add(at("10.0.0.2", 1), vip_, at("192.168.0.2", 40001)).id;
    shared_->blocked = true;
    auto with = options();
    with.reconciled = [this](double, std::uint64_t) {
      shared_->with([&](auto& s) {
        if (done_++ == 0) s.table.failure = lib::errno_status("reading", ENOBUFS);
      });
    };
    const auto reconciler = start(std::move(with));
    serve_after_old_backend(*reconciler);
    CPPUNIT_ASSERT(reconciler->settled());
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    // During a scan that began with the old backend. That scan does not count, nor do those that fail after it and one
    // that the kernel interrupts.
    reconciler->set_old_backends({});
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
  void serve_after_old_backend(ConntrackReconciler& reconciler) const {
    const auto here = at("192.168.0.2", 40001);
    reconciler.set_old_backends({true, {here.port}});
    UdpChange all = change(true, udp_port({vip_}, 0, {e1_}));
    all.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{here.address}, false, {here.address}});
    reconciler.put(std::move(all));
  }

  // The old backend waits for the scan.
  void the_last_scan_for_the_old_backend_is_not_delayed() {
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
    serve_after_old_backend(*reconciler);
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 1; }));
    reconciler->set_old_backends({});
    std::this_thread::sleep_for(scan);  // fixed time: the time of the scan
    const auto end = std::chrono::steady_clock::now();
    shared_->with([](auto& s) { s.blocked = false; });
    CPPUNIT_ASSERT(shared_->wait([](auto& s) { return s.entered == 2; }));
    return std::chrono::steady_clock::now() - end;
  }

  void is_settled_if_the_kernel_denies_deletion() {
    shared_->table.failure = lib::errno_status("reading", EPERM);
    const auto reconciler = start(options());
    reconciler->set_old_backends({true, {40001}});
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    reconciler->set_old_backends({});
    CPPUNIT_ASSERT(test::wait_until([&] { return reconciler->settled(); }));
  }

  void removes_remaining_flows_when_the_old_backend_ends() {
    auto& through = shared_->table.add(at("10.0.0.2", 1), vip_, e1_);
    through.redirected = false;
    through.remaining = 119;
    const auto id = through.id;
    const auto right = shared_->table.add(at("10.0.0.2", 2), vip_, e1_).id;
    auto with = options();
    with.scan_interval = 5ms;
    with.virtual_servers = [] { return std::optional<bool>(true); };
    const auto reconciler = start(std::move(with));
    reconciler->set_old_backends({true, {}});
    reconciler->put(change(true, udp_port({vip_}, 0, {e1_})));
    CPPUNIT_ASSERT(reached(5));
    shared_->with([&](auto& s) {
      CPPUNIT_ASSERT(s.table.has(id));
      s.table.failure = lib::errno_status("reading", ENOBUFS);  // the last scan must be repeated
    });
    reconciler->set_old_backends({});
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

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which flows of an old backend are deleted, and when.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>

#include "core/conntrack/scan.hpp"
#include "test/unit/conntrack/fakes.hpp"

namespace sluice::conntrack {
namespace old_backend_flows_test {

using namespace std::chrono_literals;
using test::at;
using test::udp_key;
using test::udp_port;

class ConntrackOldBackendFlowsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackOldBackendFlowsTest);
  CPPUNIT_TEST(detects_quiet_flows_by_their_remaining_time);
  CPPUNIT_TEST(detects_quiet_flows_earlier_by_counted_packets);
  CPPUNIT_TEST(a_flow_with_a_pending_reply_is_not_quiet);
  CPPUNIT_TEST(a_one_way_flow_has_no_pending_reply);
  CPPUNIT_TEST(an_entry_with_a_reused_id_starts_over);
  CPPUNIT_TEST(keeps_relayed_flows_of_the_old_backend);
  CPPUNIT_TEST(keeps_ipvs_flows_of_the_old_backend);
  CPPUNIT_TEST(keeps_ipvs_and_relayed_flows_of_two_old_backends);
  CPPUNIT_TEST(finds_reversed_entries);
  CPPUNIT_TEST(ipvs_flows_of_the_new_backend_are_kept);
  CPPUNIT_TEST(ipvs_flows_of_the_active_backend_are_valid);
  CPPUNIT_TEST(removes_ipvs_flows_without_virtual_servers);
  CPPUNIT_TEST(removes_flows_to_removed_endpoints_at_once);
  CPPUNIT_TEST(drops_flows_that_no_longer_exist);
  CPPUNIT_TEST_SUITE_END();

  const lib::SocketAddress vip_ = at("172.30.0.10", 53);
  const lib::SocketAddress e1_ = at("10.180.0.1", 53);
  const lib::SocketAddress e2_ = at("10.180.0.2", 53);
  const lib::SocketAddress here_ = at("192.168.0.2", 40001);
  ConntrackState state_;
  ConntrackWork work_;
  test::FakeConntrackTable table_;
  std::optional<bool> servers_ = true;
  int calls_ = 0;
  OldBackendFlows old_backend_flows_{[this] {
    ++calls_;
    return servers_;
  }};
  lib::Clock::Time now_{};

 public:
  void setUp() override {
    UdpChange change;
    change.full = true;
    change.ports.emplace_back(udp_key("svc1"), udp_port({vip_}, 0, {e1_}));
    change.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{here_.address}, false, {here_.address}});
    state_.apply(change, work_);
  }

 private:
  std::uint32_t add(std::uint16_t client, const lib::SocketAddress& server, bool redirected,
                    std::uint32_t remaining = 119) {
    Flow& flow = table_.add(at("10.0.0.2", client), vip_, server);
    flow.redirected = redirected;
    flow.remaining = remaining;
    return flow.id;
  }
  Flow& flow(std::uint32_t id) {
    return *std::find_if(table_.flows.begin(), table_.flows.end(), [&](const Flow& one) { return one.id == id; });
  }
  void scan(lib::Clock::Duration later = 400ms, bool full = true) {
    now_ += later;
    ConntrackWork work;
    if (full) {
      work.note_full_scan();
    } else {
      work.note(nullptr, udp_port({vip_}, 0, {e1_}).get());
    }
    old_backend_flows_.begin(now_, full);
    const auto result =
        reconcile_conntrack(lib::Family::ipv4, state_, work, table_, std::atomic<bool>(false), &old_backend_flows_);
    CPPUNIT_ASSERT(result.ok());
    old_backend_flows_.end(!result->partial);
  }

  // A flow with a packet each second has 119 or 118 seconds left, right after a packet 120.
  void detects_quiet_flows_by_their_remaining_time() {
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto id = add(1, here_, true, 119);
    for (const std::uint32_t remaining : {119u, 118u, 120u, 119u, 119u, 120u, 119u}) {
      flow(id).remaining = remaining;
      scan();
      CPPUNIT_ASSERT_MESSAGE(std::to_string(remaining), table_.has(id));
    }
    flow(id).remaining = 118;
    scan();
    CPPUNIT_ASSERT(!table_.has(id));
    // The first reply extends the timeout of the entry.
    const auto other = add(2, here_, true, 29);
    scan();
    flow(other).remaining = 119;
    scan();
    CPPUNIT_ASSERT(table_.has(other));
    flow(other).remaining = 117;
    scan();
    CPPUNIT_ASSERT(!table_.has(other));
  }

  void detects_quiet_flows_earlier_by_counted_packets() {
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto id = add(1, here_, true, 119);
    for (std::uint64_t packets = 2; packets < 10; packets += 2) {
      flow(id).packets = packets;
      flow(id).replies = packets / 2;
      scan();
      CPPUNIT_ASSERT(table_.has(id));
    }
    scan(200ms);
    CPPUNIT_ASSERT(table_.has(id));
    flow(id).packets = 10;
    flow(id).replies = 5;
    scan(200ms);
    scan(200ms);
    CPPUNIT_ASSERT(table_.has(id));
    scan(200ms);
    CPPUNIT_ASSERT(!table_.has(id));
  }

  // A reply on an overloaded node takes longer than 300 ms.
  void a_flow_with_a_pending_reply_is_not_quiet() {
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto first = add(1, here_, true, 119), later = add(2, here_, true, 119);
    flow(first).packets = 1;
    flow(later).packets = 9;
    flow(later).replies = 4;
    scan();
    for (int i = 0; i < 7; ++i) {
      scan();
      CPPUNIT_ASSERT(table_.has(first) && table_.has(later));
    }
    flow(later).packets = 10;
    flow(later).replies = 5;
    scan();
    CPPUNIT_ASSERT(!table_.has(first));
    CPPUNIT_ASSERT(table_.has(later));
    scan();
    CPPUNIT_ASSERT(!table_.has(later));
  }

  void a_one_way_flow_has_no_pending_reply() {
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto repeats = add(1, here_, true, 119), one_way = add(2, here_, true, 119);
    flow(repeats).packets = 3;
    flow(one_way).packets = 4;
    scan();
    scan();
    CPPUNIT_ASSERT(table_.has(repeats));
    CPPUNIT_ASSERT(!table_.has(one_way));
  }

  // The kernel reuses ids.
  void an_entry_with_a_reused_id_starts_over() {
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto id = add(1, here_, true, 119);
    scan();
    flow(id).source = at("10.0.0.2", 7);
    flow(id).remaining = 29;
    scan();
    CPPUNIT_ASSERT(table_.has(id));
    flow(id).remaining = 27;
    scan();
    CPPUNIT_ASSERT(!table_.has(id));
  }

  void keeps_relayed_flows_of_the_old_backend() {
    old_backend_flows_.set_old_backends({true, {40001, 39999}});
    const auto id = add(1, here_, true);
    const auto other_port = add(2, at("192.168.0.2", 40000), true);
    const auto other_node = add(3, at("192.168.0.3", 40001), true);
    const auto direct = add(4, e1_, true);
    const auto through = add(5, e1_, false);  // of the new backend
    scan();
    scan();
    CPPUNIT_ASSERT(table_.has(id) && !table_.has(other_port) && !table_.has(other_node));
    flow(id).remaining = 117;
    flow(direct).remaining = 1;
    flow(through).remaining = 1;
    scan();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(direct) && table_.has(through));
    const auto late = add(6, here_, true);
    scan();
    old_backend_flows_.set_old_backends({});
    scan();
    CPPUNIT_ASSERT(!table_.has(late) && table_.has(direct) && table_.has(through));
  }

  void keeps_ipvs_flows_of_the_old_backend() {
    old_backend_flows_.set_old_backends({true, {}});
    const auto id = add(1, e1_, false), direct = add(2, e1_, true), quiet = add(3, e1_, false);
    scan();
    flow(quiet).remaining = 117;
    flow(direct).remaining = 1;
    scan();
    CPPUNIT_ASSERT(table_.has(id) && table_.has(direct) && !table_.has(quiet));
    old_backend_flows_.set_old_backends({});
    scan(400ms, false);  // a filtered scan does not delete it
    scan();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(direct));
    CPPUNIT_ASSERT_EQUAL(0, calls_);
    // Later flows through IPVS belong to the active backend.
    const auto new_one = add(5, e1_, false);
    scan();
    CPPUNIT_ASSERT(table_.has(new_one));
  }

  // Two old backends, one of which relays.
  void keeps_ipvs_and_relayed_flows_of_two_old_backends() {
    old_backend_flows_.set_old_backends({true, {40001}, true});
    const auto id = add(1, e1_, false), quiet = add(2, e1_, false), relayed = add(3, here_, true);
    scan();
    flow(quiet).remaining = 117;
    scan();
    CPPUNIT_ASSERT(table_.has(id) && !table_.has(quiet) && table_.has(relayed));
    // The other backend becomes an old backend later.
    old_backend_flows_.set_old_backends({true, {}, true});
    scan();
    old_backend_flows_.set_old_backends({true, {40001}, true});
    scan();
    CPPUNIT_ASSERT(table_.has(id));
    old_backend_flows_.set_old_backends({true, {40001}, false});  // the backend with IPVS ends
    const auto other = add(4, here_, true);
    scan();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(other));
  }

  // If a reply is in flight when the entry is deleted, it creates a reversed entry through IPVS, which later packets of
  // the client match.
  void finds_reversed_entries() {
    const auto reversed = [this](std::uint16_t client) {
      Flow& one = table_.add(e1_, at("10.0.0.2", client), at("10.0.0.2", client));
      one.reply_destination = vip_;
      one.redirected = false;
      one.remaining = 119;
      return one.id;
    };
    const auto unrelated = table_.add(e1_, at("10.0.0.2", 9), at("10.0.0.2", 9)).id;  // an endpoint as client
    const auto of_other = reversed(8);
    flow(of_other).source = e2_;
    old_backend_flows_.set_old_backends({true, {}, true});
    const auto first = add(1, e1_, false), quiet = reversed(2);
    scan();
    CPPUNIT_ASSERT(table_.has(quiet));
    flow(quiet).remaining = 117;
    scan();
    CPPUNIT_ASSERT(table_.has(first) && !table_.has(quiet));
    old_backend_flows_.set_old_backends({});
    scan();
    CPPUNIT_ASSERT(!table_.has(first) && old_backend_flows_.needs_scans());
    const auto second = reversed(1);
    scan();
    CPPUNIT_ASSERT(!table_.has(second) && old_backend_flows_.needs_scans());
    scan();
    CPPUNIT_ASSERT(!old_backend_flows_.needs_scans() && table_.has(unrelated) && table_.has(of_other));
    // Of the active backend.
    const auto active = reversed(3);
    scan();
    CPPUNIT_ASSERT(table_.has(active));
  }

  // If it is unknown whether the old backend uses IPVS.
  void ipvs_flows_of_the_new_backend_are_kept() {
    old_backend_flows_.set_old_backends({true, {}});
    scan();
    const auto id = add(1, e1_, false), quiet = add(2, e1_, false);
    old_backend_flows_.set_old_backends({true, {}});  // repeated statement
    scan();
    flow(quiet).remaining = 100;
    scan();
    CPPUNIT_ASSERT(table_.has(quiet));
    old_backend_flows_.set_old_backends({});
    scan();
    scan();
    CPPUNIT_ASSERT(table_.has(id) && table_.has(quiet));
  }

  void ipvs_flows_of_the_active_backend_are_valid() {
    const auto id = add(1, e1_, false);
    add(2, e1_, false);
    scan();
    flow(id).remaining = 1;
    scan();
    CPPUNIT_ASSERT(table_.has(id));
    CPPUNIT_ASSERT_EQUAL(2, calls_);  // once per scan
    scan(400ms, false);
    CPPUNIT_ASSERT_EQUAL(2, calls_);
  }

  // A daemon that used IPVS has ended, and its virtual servers were removed.
  void removes_ipvs_flows_without_virtual_servers() {
    const auto id = add(1, e1_, false), direct = add(2, e1_, true);
    servers_.reset();
    scan();
    CPPUNIT_ASSERT(table_.has(id));
    servers_ = false;
    scan(400ms, false);
    CPPUNIT_ASSERT(table_.has(id));
    scan();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(direct));
  }

  void removes_flows_to_removed_endpoints_at_once() {
    old_backend_flows_.set_old_backends({true, {}});
    const auto id = add(1, e2_, false);
    scan();
    CPPUNIT_ASSERT(!table_.has(id));
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto other = add(2, e2_, true);
    scan();
    CPPUNIT_ASSERT(!table_.has(other));
  }

  void drops_flows_that_no_longer_exist() {
    old_backend_flows_.set_old_backends({true, {40001}});
    const auto id = add(1, here_, true, 119);
    scan();
    const std::vector<Flow> kept = std::exchange(table_.flows, {});
    scan();
    table_.flows = kept;
    flow(id).remaining = 100;  // the flow was dropped, so this is its first scan
    scan();
    CPPUNIT_ASSERT(table_.has(id));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackOldBackendFlowsTest);

}  // namespace old_backend_flows_test
}  // namespace sluice::conntrack

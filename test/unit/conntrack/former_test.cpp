// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Flows of a backend that goes: which are let go of, and when.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <atomic>

#include "core/conntrack/pass.hpp"
#include "test/unit/conntrack/fakes.hpp"

namespace sluice::conntrack {
namespace former_test {

using namespace std::chrono_literals;
using test::at;
using test::udp_key;
using test::udp_port;

class ConntrackFormerTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackFormerTest);
  CPPUNIT_TEST(seconds_that_remain_tell_who_is_quiet);
  CPPUNIT_TEST(counted_packets_tell_it_sooner);
  CPPUNIT_TEST(a_flow_with_a_pending_reply_is_not_quiet);
  CPPUNIT_TEST(a_one_way_flow_has_no_pending_reply);
  CPPUNIT_TEST(an_entry_that_is_another_one_begins_anew);
  CPPUNIT_TEST(relays_of_the_former_are_kept);
  CPPUNIT_TEST(ipvs_of_the_former_is_kept);
  CPPUNIT_TEST(ipvs_and_relays_of_the_former_are_kept);
  CPPUNIT_TEST(a_flow_that_turns_round_is_found);
  CPPUNIT_TEST(ipvs_of_the_newcomer_is_none_of_the_former);
  CPPUNIT_TEST(ipvs_of_the_present_is_right);
  CPPUNIT_TEST(without_virtual_servers_nothing_goes_through_ipvs);
  CPPUNIT_TEST(what_is_gone_goes_at_once);
  CPPUNIT_TEST(memory_follows_the_flows);
  CPPUNIT_TEST_SUITE_END();

  const base::SocketAddress vip_ = at("172.30.0.10", 53);
  const base::SocketAddress e1_ = at("10.180.0.1", 53);
  const base::SocketAddress e2_ = at("10.180.0.2", 53);
  const base::SocketAddress here_ = at("192.168.0.2", 40001);
  ConntrackState state_;
  ConntrackWork work_;
  test::FakeConntrackTable table_;
  std::optional<bool> servers_ = true;
  int asked_ = 0;
  FormerBackend former_{[this] {
    ++asked_;
    return servers_;
  }};
  base::Clock::Time now_{};

 public:
  void setUp() override {
    UdpChange change;
    change.full = true;
    change.ports.emplace_back(udp_key("svc1"), udp_port({vip_}, 0, {e1_}));
    change.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{here_.address}, false, {here_.address}});
    state_.apply(change, work_);
  }

 private:
  std::uint32_t add(std::uint16_t client, const base::SocketAddress& answered_by, bool redirected,
                    std::uint32_t remaining = 119) {
    Flow& flow = table_.add(at("10.0.0.2", client), vip_, answered_by);
    flow.redirected = redirected;
    flow.remaining = remaining;
    return flow.id;
  }
  Flow& flow(std::uint32_t id) {
    return *std::find_if(table_.flows.begin(), table_.flows.end(), [&](const Flow& one) { return one.id == id; });
  }
  void look(base::Clock::Duration later = 400ms, bool everything = true) {
    now_ += later;
    ConntrackWork work;
    if (everything) {
      work.note_everything();
    } else {
      work.note(nullptr, udp_port({vip_}, 0, {e1_}).get());
    }
    former_.begin(now_, everything);
    const auto pass = reconcile_conntrack(base::Family::ipv4, state_, work, table_, std::atomic<bool>(false), &former_);
    CPPUNIT_ASSERT(pass.ok());
    former_.end(!pass->partial);
  }

  // One that has a packet each second shows 119 or 118, at the moment of a packet 120.
  void seconds_that_remain_tell_who_is_quiet() {
    former_.set(true, {40001});
    const auto id = add(1, here_, true, 119);
    for (const std::uint32_t remaining : {119u, 118u, 120u, 119u, 119u, 120u, 119u}) {
      flow(id).remaining = remaining;
      look();
      CPPUNIT_ASSERT_MESSAGE(std::to_string(remaining), table_.has(id));
    }
    flow(id).remaining = 118;
    look();
    CPPUNIT_ASSERT(!table_.has(id));
    // Its first answer has made it live longer.
    const auto other = add(2, here_, true, 29);
    look();
    flow(other).remaining = 119;
    look();
    CPPUNIT_ASSERT(table_.has(other));
    flow(other).remaining = 117;
    look();
    CPPUNIT_ASSERT(!table_.has(other));
  }

  void counted_packets_tell_it_sooner() {
    former_.set(true, {40001});
    const auto id = add(1, here_, true, 119);
    for (std::uint64_t packets = 2; packets < 10; packets += 2) {
      flow(id).packets = packets;
      flow(id).replies = packets / 2;
      look();
      CPPUNIT_ASSERT(table_.has(id));
    }
    look(200ms);
    CPPUNIT_ASSERT(table_.has(id));
    flow(id).packets = 10;
    flow(id).replies = 5;
    look(200ms);
    look(200ms);
    CPPUNIT_ASSERT(table_.has(id));
    look(200ms);
    CPPUNIT_ASSERT(!table_.has(id));
  }

  // A reply on an overloaded node takes longer than 300 ms.
  void a_flow_with_a_pending_reply_is_not_quiet() {
    former_.set(true, {40001});
    const auto first = add(1, here_, true, 119), later = add(2, here_, true, 119);
    flow(first).packets = 1;
    flow(later).packets = 9;
    flow(later).replies = 4;
    look();
    for (int i = 0; i < 7; ++i) {
      look();
      CPPUNIT_ASSERT(table_.has(first) && table_.has(later));
    }
    flow(later).packets = 10;
    flow(later).replies = 5;
    look();
    CPPUNIT_ASSERT(!table_.has(first));
    CPPUNIT_ASSERT(table_.has(later));
    look();
    CPPUNIT_ASSERT(!table_.has(later));
  }

  void a_one_way_flow_has_no_pending_reply() {
    former_.set(true, {40001});
    const auto repeats = add(1, here_, true, 119), tells = add(2, here_, true, 119);
    flow(repeats).packets = 3;
    flow(tells).packets = 4;
    look();
    look();
    CPPUNIT_ASSERT(table_.has(repeats));
    CPPUNIT_ASSERT(!table_.has(tells));
  }

  // The kernel gives numbers again.
  void an_entry_that_is_another_one_begins_anew() {
    former_.set(true, {40001});
    const auto id = add(1, here_, true, 119);
    look();
    flow(id).source = at("10.0.0.2", 7);
    flow(id).remaining = 29;
    look();
    CPPUNIT_ASSERT(table_.has(id));
    flow(id).remaining = 27;
    look();
    CPPUNIT_ASSERT(!table_.has(id));
  }

  void relays_of_the_former_are_kept() {
    former_.set(true, {40001, 39999});
    const auto id = add(1, here_, true);
    const auto other_port = add(2, at("192.168.0.2", 40000), true);
    const auto other_node = add(3, at("192.168.0.3", 40001), true);
    const auto direct = add(4, e1_, true);
    const auto through = add(5, e1_, false);  // the newcomer's
    look();
    look();
    CPPUNIT_ASSERT(table_.has(id) && !table_.has(other_port) && !table_.has(other_node));
    flow(id).remaining = 117;
    flow(direct).remaining = 1;
    flow(through).remaining = 1;
    look();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(direct) && table_.has(through));
    const auto late = add(6, here_, true);
    look();
    former_.set(false, {});
    look();
    CPPUNIT_ASSERT(!table_.has(late) && table_.has(direct) && table_.has(through));
  }

  void ipvs_of_the_former_is_kept() {
    former_.set(true, {});
    const auto id = add(1, e1_, false), direct = add(2, e1_, true), quiet = add(3, e1_, false);
    look();
    flow(quiet).remaining = 117;
    flow(direct).remaining = 1;
    look();
    CPPUNIT_ASSERT(table_.has(id) && table_.has(direct) && !table_.has(quiet));
    former_.set(false, {});
    look(400ms, false);  // does not end it
    look();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(direct));
    CPPUNIT_ASSERT_EQUAL(0, asked_);
    // From then on they are somebody's again.
    const auto new_one = add(5, e1_, false);
    look();
    CPPUNIT_ASSERT(table_.has(new_one));
  }

  // Two of them, one of which relays.
  void ipvs_and_relays_of_the_former_are_kept() {
    former_.set(true, {40001}, true);
    const auto id = add(1, e1_, false), quiet = add(2, e1_, false), relayed = add(3, here_, true);
    look();
    flow(quiet).remaining = 117;
    look();
    CPPUNIT_ASSERT(table_.has(id) && !table_.has(quiet) && table_.has(relayed));
    // It had IPVS alone before the other one came.
    former_.set(true, {}, true);
    look();
    former_.set(true, {40001}, true);
    look();
    CPPUNIT_ASSERT(table_.has(id));
    former_.set(true, {40001}, false);  // the one with IPVS goes
    const auto other = add(4, here_, true);
    look();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(other));
  }

  // An answer was on its way when the entry was deleted: IPVS makes another one of it, to which the client's packets
  // belong.
  void a_flow_that_turns_round_is_found() {
    const auto turned = [this](std::uint16_t client) {
      Flow& one = table_.add(e1_, at("10.0.0.2", client), at("10.0.0.2", client));
      one.reply_destination = vip_;
      one.redirected = false;
      one.remaining = 119;
      return one.id;
    };
    const auto nobodys = table_.add(e1_, at("10.0.0.2", 9), at("10.0.0.2", 9)).id;  // an endpoint that asks
    const auto of_other = turned(8);
    flow(of_other).source = e2_;
    former_.set(true, {}, true);
    const auto first = add(1, e1_, false), quiet = turned(2);
    look();
    CPPUNIT_ASSERT(table_.has(quiet));
    flow(quiet).remaining = 117;
    look();
    CPPUNIT_ASSERT(table_.has(first) && !table_.has(quiet));
    former_.set(false, {});
    look();
    CPPUNIT_ASSERT(!table_.has(first) && former_.remains());
    const auto second = turned(1);
    look();
    CPPUNIT_ASSERT(!table_.has(second) && former_.remains());
    look();
    CPPUNIT_ASSERT(!former_.remains() && table_.has(nobodys) && table_.has(of_other));
    // Of the present backend.
    const auto present = turned(3);
    look();
    CPPUNIT_ASSERT(table_.has(present));
  }

  // Of which it is only known that it served: it may have been one without IPVS.
  void ipvs_of_the_newcomer_is_none_of_the_former() {
    former_.set(true, {});
    look();
    const auto id = add(1, e1_, false), quiet = add(2, e1_, false);
    former_.set(true, {});  // said again
    look();
    flow(quiet).remaining = 100;
    look();
    CPPUNIT_ASSERT(table_.has(quiet));
    former_.set(false, {});
    look();
    look();
    CPPUNIT_ASSERT(table_.has(id) && table_.has(quiet));
  }

  void ipvs_of_the_present_is_right() {
    const auto id = add(1, e1_, false);
    add(2, e1_, false);
    look();
    flow(id).remaining = 1;
    look();
    CPPUNIT_ASSERT(table_.has(id));
    CPPUNIT_ASSERT_EQUAL(2, asked_);  // once a look
    look(400ms, false);
    CPPUNIT_ASSERT_EQUAL(2, asked_);
  }

  // A daemon that served by IPVS has ended, and what it made was removed.
  void without_virtual_servers_nothing_goes_through_ipvs() {
    const auto id = add(1, e1_, false), direct = add(2, e1_, true);
    servers_.reset();
    look();
    CPPUNIT_ASSERT(table_.has(id));
    servers_ = false;
    look(400ms, false);
    CPPUNIT_ASSERT(table_.has(id));
    look();
    CPPUNIT_ASSERT(!table_.has(id) && table_.has(direct));
  }

  void what_is_gone_goes_at_once() {
    former_.set(true, {});
    const auto id = add(1, e2_, false);
    look();
    CPPUNIT_ASSERT(!table_.has(id));
    former_.set(true, {40001});
    const auto other = add(2, e2_, true);
    look();
    CPPUNIT_ASSERT(!table_.has(other));
  }

  void memory_follows_the_flows() {
    former_.set(true, {40001});
    const auto id = add(1, here_, true, 119);
    look();
    const std::vector<Flow> kept = std::exchange(table_.flows, {});
    look();
    table_.flows = kept;
    flow(id).remaining = 100;  // not known any more: this is its first look
    look();
    CPPUNIT_ASSERT(table_.has(id));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackFormerTest);

}  // namespace former_test
}  // namespace sluice::conntrack

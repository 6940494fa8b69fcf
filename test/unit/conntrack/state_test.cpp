// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Which flows are stale, where they are looked for, and how a reconciling goes on when the
// table does not hold still.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <array>
#include <atomic>

#include "core/conntrack/mailbox.hpp"
#include "core/conntrack/pass.hpp"
#include "test/unit/conntrack/fakes.hpp"

namespace sluice::conntrack {
namespace state_test {

using base::SocketAddress;
using test::at;
using test::udp_key;
using test::udp_port;

const SocketAddress kVip = at("172.30.0.10", 53);
const SocketAddress kExternal = at("192.0.2.53", 53);
const SocketAddress kE1 = at("10.180.0.1", 5353);
const SocketAddress kE2 = at("10.180.0.2", 5353);
const SocketAddress kClient = at("10.0.0.2", 40000);
const SocketAddress kNodePort = at("192.168.0.2", 30053);
const SocketAddress kLoopback = at("127.0.0.1", 30053);
const SocketAddress kElsewhere = at("198.51.100.1", 30053);

class ConntrackStateTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ConntrackStateTest);
  CPPUNIT_TEST(a_flow_to_an_endpoint_that_is_gone_is_stale);
  CPPUNIT_TEST(the_last_endpoint_counts_like_any_other);
  CPPUNIT_TEST(a_black_hole_is_stale_once_somebody_serves);
  CPPUNIT_TEST(node_ports_are_ours_at_the_addresses_of_the_node_only);
  CPPUNIT_TEST(a_retired_frontend_loses_what_was_translated_there);
  CPPUNIT_TEST(an_address_that_two_services_claim_keeps_the_flows_of_both);
  CPPUNIT_TEST(a_relayed_port_is_served_by_the_node_at_the_ports_told);
  CPPUNIT_TEST(a_change_of_relays_asks_by_port);
  CPPUNIT_TEST(what_cannot_matter_is_not_looked_for);
  CPPUNIT_TEST(a_small_change_asks_small_questions);
  CPPUNIT_TEST(many_changes_are_one_look_at_everything);
  CPPUNIT_TEST(work_is_bounded_however_many_addresses_retire);
  CPPUNIT_TEST(an_overtaken_state_is_not_forgotten);
  CPPUNIT_TEST(frontends_are_remembered_as_text);
  CPPUNIT_TEST(a_damaged_memory_is_refused_with_its_line);
  CPPUNIT_TEST(interruptions_are_tried_again_and_then_lived_with);
  CPPUNIT_TEST(a_pass_visits_all_flows_once_if_that_costs_less);
  CPPUNIT_TEST(a_kernel_that_ignores_filters_is_asked_for_all_flows_next);
  CPPUNIT_TEST(stop_ends_a_pass);
  CPPUNIT_TEST(a_failure_is_told);
  CPPUNIT_TEST_SUITE_END();

  ConntrackState state_;
  ConntrackWork work_;
  std::uint32_t id_ = 0;

  void scope() {
    UdpChange change;
    change.node_ports =
        std::make_shared<const NodePortScope>(NodePortScope{{kNodePort.address}, false, {kNodePort.address}});
    state_.apply(change, work_);
  }
  void set(UdpPortPtr port, const std::string& name = "svc1") {
    UdpChange change;
    change.ports.emplace_back(udp_key(name), std::move(port));
    state_.apply(change, work_);
  }
  bool stale(const SocketAddress& to, const SocketAddress& from) {
    return state_.stale({kClient, to, from, kClient, ++id_}, work_);
  }
  static FlowQuery to(const SocketAddress& frontend) { return {frontend.address, frontend.port, std::nullopt, 0}; }
  static FlowQuery from(const SocketAddress& endpoint) { return {std::nullopt, 0, endpoint.address, endpoint.port}; }

 public:
  void setUp() override {
    state_ = {};
    work_ = {};
    scope();
  }

  void a_flow_to_an_endpoint_that_is_gone_is_stale() {
    set(udp_port({kVip, kExternal}, 0, {kE1}));
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kVip, kE2));
    CPPUNIT_ASSERT(stale(kExternal, kE2));
    // The same pod at another port is another endpoint.
    CPPUNIT_ASSERT(stale(kVip, {kE1.address, 5354}));
    // Another port of the address is none of ours.
    CPPUNIT_ASSERT(!stale({kVip.address, 54}, kE2));
  }

  void the_last_endpoint_counts_like_any_other() {
    set(udp_port({kVip}, 30053, {}));
    CPPUNIT_ASSERT(stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kNodePort, kE1));
    CPPUNIT_ASSERT(!stale(kVip, kVip));
  }

  void a_black_hole_is_stale_once_somebody_serves() {
    set(udp_port({kVip}, 30053, {}));
    CPPUNIT_ASSERT(!stale(kVip, kVip));
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(stale(kVip, kVip));
    CPPUNIT_ASSERT(stale(kNodePort, kNodePort));
  }

  void node_ports_are_ours_at_the_addresses_of_the_node_only() {
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(stale(kNodePort, kE2));
    CPPUNIT_ASSERT(!stale(kElsewhere, kE2));
    CPPUNIT_ASSERT(!stale(kElsewhere, kElsewhere));
    CPPUNIT_ASSERT(!stale(kLoopback, kE2));
    UdpChange change;
    change.node_ports = std::make_shared<const NodePortScope>(NodePortScope{{}, true, {}});
    state_.apply(change, work_);
    CPPUNIT_ASSERT(stale(kLoopback, kE2));
    CPPUNIT_ASSERT(!stale(kNodePort, kE2));
  }

  void a_retired_frontend_loses_what_was_translated_there() {
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    set(nullptr);
    CPPUNIT_ASSERT(stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kNodePort, kE1));
    CPPUNIT_ASSERT(!stale(kVip, kVip));
    CPPUNIT_ASSERT(!stale(kElsewhere, kE1));
    // Somebody's again, it is judged as what it is.
    set(udp_port({kVip}, 30053, {kE1}), "svc2");
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    CPPUNIT_ASSERT(!stale(kNodePort, kE1));
  }

  void an_address_that_two_services_claim_keeps_the_flows_of_both() {
    set(udp_port({kExternal}, 0, {kE1}));
    set(udp_port({kExternal}, 0, {kE2}), "svc2");
    CPPUNIT_ASSERT(!stale(kExternal, kE1));
    CPPUNIT_ASSERT(!stale(kExternal, kE2));
    set(nullptr, "svc2");
    CPPUNIT_ASSERT(!stale(kExternal, kE1));
    CPPUNIT_ASSERT(stale(kExternal, kE2));
  }

  void a_relayed_port_is_served_by_the_node_at_the_ports_told() {
    set(udp_port({kVip}, 30053, {kE1}, {40001, 40002}));
    CPPUNIT_ASSERT(!stale(kVip, {kNodePort.address, 40001}));
    CPPUNIT_ASSERT(!stale(kVip, {kNodePort.address, 40002}));
    CPPUNIT_ASSERT(!stale(kVip, {kLoopback.address, 40002}));
    CPPUNIT_ASSERT(!stale(kNodePort, {kNodePort.address, 40001}));
    // From before a change of mode.
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    // Nobody is there, or it is somebody else's.
    CPPUNIT_ASSERT(stale(kVip, {kNodePort.address, 40003}));
    CPPUNIT_ASSERT(stale(kVip, {kE1.address, 40001}));
    CPPUNIT_ASSERT(stale(kVip, kE2));
    CPPUNIT_ASSERT(stale(kVip, kVip));
    CPPUNIT_ASSERT(!stale(kElsewhere, {kNodePort.address, 40003}));
    // The relay receives for a Service without endpoints, too.
    set(udp_port({kVip}, 30053, {}, {40001}));
    CPPUNIT_ASSERT(!stale(kVip, {kNodePort.address, 40001}));
    CPPUNIT_ASSERT(stale(kVip, kVip));
    // Back to a mode that translates.
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(stale(kVip, {kNodePort.address, 40001}));
    // An address the node has no more.
    set(udp_port({kVip}, 30053, {kE1}, {40001}));
    UdpChange change;
    change.node_ports = std::make_shared<const NodePortScope>();
    state_.apply(change, work_);
    CPPUNIT_ASSERT(stale(kVip, {kNodePort.address, 40001}));
  }

  void a_change_of_relays_asks_by_port() {
    const FlowQuery node_port{std::nullopt, 30053, std::nullopt, 0};
    const auto at_port = [](std::uint16_t port) { return FlowQuery{std::nullopt, 0, std::nullopt, port}; };
    // What went nowhere before the portal was there.
    set(udp_port({kVip}, 30053, {}));
    set(udp_port({kVip}, 30053, {}, {40001}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), node_port}));
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1}, {40001}));
    set(udp_port({kVip}, 30053, {kE1}, {40001, 40002}));
    CPPUNIT_ASSERT(work_.empty());
    set(udp_port({kVip}, 30053, {kE1}, {40002, 40003}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{at_port(40001)}));
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{at_port(40002), at_port(40003)}));
    // Endpoints were there all the time, but nobody received.
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1}, {40001}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), node_port}));
    // Gone: found at its frontends.
    work_ = {};
    set(nullptr);
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), node_port}));
  }

  void what_cannot_matter_is_not_looked_for() {
    set(udp_port({kVip}, 30053, {}));
    CPPUNIT_ASSERT(work_.empty());
    set(udp_port({kVip}, 30053, {kE1}));
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1, kE2}));
    CPPUNIT_ASSERT(work_.empty());
    set(udp_port({kVip}, 30053, {kE1, kE2}));
    CPPUNIT_ASSERT(work_.empty());
  }

  void a_small_change_asks_small_questions() {
    set(udp_port({kVip}, 30053, {}));
    set(udp_port({kVip}, 30053, {kE1, kE2}));
    const FlowQuery node_port{std::nullopt, 30053, std::nullopt, 0};
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), node_port}));
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{from(kE2)}));
    work_ = {};
    set(udp_port({kVip, kExternal}, 0, {kE1}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{node_port, to(kExternal)}));
    work_ = {};
    set(nullptr);
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), to(kExternal)}));
  }

  void many_changes_are_one_look_at_everything() {
    std::vector<SocketAddress> endpoints;
    for (std::uint8_t i = 1; i <= ConntrackWork::kMostQueries + 1; ++i) {
      endpoints.push_back(at("10.180.1." + std::to_string(i), 53));
    }
    set(udp_port({kVip}, 0, endpoints));
    work_ = {};
    set(udp_port({kVip}, 0, {}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{FlowQuery{}}));
    CPPUNIT_ASSERT(work_.everything());
  }

  void work_is_bounded_however_many_addresses_retire() {
    ConntrackWork more;
    for (std::uint32_t i = 0; i < 2 * ConntrackWork::kMostRetired; ++i) {
      const std::array<std::uint8_t, 4> bytes{203, static_cast<std::uint8_t>(i >> 16),
                                              static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
      const SocketAddress frontend{base::IpAddress::from_bytes(base::Family::ipv4, bytes.data()), 53};
      (i % 2 == 0 ? work_ : more).note_retired(frontend);
    }
    CPPUNIT_ASSERT_EQUAL(ConntrackWork::kMostRetired, work_.retired().size());
    work_.merge(more);
    CPPUNIT_ASSERT_EQUAL(ConntrackWork::kMostRetired, work_.retired().size());
    CPPUNIT_ASSERT(work_.everything());
  }

  void an_overtaken_state_is_not_forgotten() {
    ConntrackMailbox mailbox;
    const auto put = [&](UdpPortPtr port, bool full = false) {
      UdpChange change;
      change.full = full;
      if (port || !full) change.ports.emplace_back(udp_key("svc1"), std::move(port));
      mailbox.put(std::move(change));
    };
    CPPUNIT_ASSERT(mailbox.empty());
    // An endpoint that came and went, a Service that went and came.
    put(udp_port({kVip}, 0, {kE1, kE2}));
    put(udp_port({kVip}, 0, {kE1}));
    auto news = mailbox.take();
    CPPUNIT_ASSERT(mailbox.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), news.change.ports.size());
    CPPUNIT_ASSERT((news.work.queries() == std::vector{from(kE2)}));
    put(nullptr);
    put(udp_port({kVip}, 0, {kE1}));
    news = mailbox.take();
    CPPUNIT_ASSERT((news.work.queries() == std::vector{to(kVip)}));
    // A full state that does not name it any more.
    put(udp_port({kVip}, 0, {kE1}));
    put(nullptr, true);
    news = mailbox.take();
    CPPUNIT_ASSERT(news.change.full && news.change.ports.empty());
    CPPUNIT_ASSERT(news.work.retired().contains(kVip));
  }

  void frontends_are_remembered_as_text() {
    CPPUNIT_ASSERT(state_.take_frontends_changed());
    CPPUNIT_ASSERT(!state_.take_frontends_changed());
    set(udp_port({kVip, at("fd00::a", 53)}, 30053, {kE1}));
    CPPUNIT_ASSERT(state_.take_frontends_changed());
    const std::string text = state_.remember();
    CPPUNIT_ASSERT_EQUAL(std::string("sluice-udp-frontends 1\n172.30.0.10 53\nfd00::a 53\nnode-port 30053\n"), text);
    set(udp_port({kVip, at("fd00::a", 53)}, 30053, {kE2}));
    CPPUNIT_ASSERT(!state_.take_frontends_changed());

    set(nullptr);
    work_ = {};
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), *ConntrackState::recall(text, work_));
    CPPUNIT_ASSERT(stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kNodePort, kE1));
    CPPUNIT_ASSERT(!stale(kExternal, kE1));
  }

  void a_damaged_memory_is_refused_with_its_line() {
    const std::string header = "sluice-udp-frontends 1\n";
    const auto message = [&](const std::string& text) {
      return ConntrackState::recall(text, work_).status().message();
    };
    CPPUNIT_ASSERT_EQUAL(std::string("line 1 is not \"sluice-udp-frontends 1\""), message("sluice-udp-frontends 2\n"));
    for (const char* line :
         {"10.0.0.1", "10.0.0.1 ", "10.0.0.1 0", "10.0.0.1 65536", "10.0.0.1 53x", "somewhere 53", " 53"}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(line, std::string("line 3 is neither \"ADDRESS PORT\" nor \"node-port PORT\""),
                                   message(header + "10.0.0.1 53\n" + line + "\n"));
    }
    CPPUNIT_ASSERT(ConntrackState::recall("", work_).ok());
    CPPUNIT_ASSERT(ConntrackState::recall(header, work_).ok());
  }

  void interruptions_are_tried_again_and_then_lived_with() {
    set(udp_port({kVip}, 0, {kE1}));
    work_ = {};
    work_.note_everything();
    const std::atomic<bool> stop{false};
    for (const int interruptions : {0, 1, kConntrackAttempts - 1, kConntrackAttempts, 1000}) {
      test::FakeConntrackTable table;
      for (std::uint16_t i = 0; i < 4; ++i) table.add({kClient.address, i}, kVip, kE2);
      table.add({kClient.address, 9}, kVip, kE1);
      table.interruptions = interruptions;
      const auto pass = reconcile_conntrack(base::Family::ipv4, state_, work_, table, stop);
      CPPUNIT_ASSERT(pass.ok());
      const bool partial = interruptions >= kConntrackAttempts;
      CPPUNIT_ASSERT_EQUAL(partial, pass->partial);
      CPPUNIT_ASSERT_EQUAL(std::size_t(std::min(interruptions + 1, kConntrackAttempts)), table.visits);
      if (partial) {
        CPPUNIT_ASSERT(pass->deleted >= 2);  // what was read
      } else {
        CPPUNIT_ASSERT_EQUAL(std::uint64_t(4), pass->deleted);
      }
    }
  }

  void a_pass_visits_all_flows_once_if_that_costs_less() {
    set(udp_port({kVip, kExternal}, 30053, {kE1}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), work_.queries().size());
    const std::size_t rows[][3] = {
        // whole cheaper from, visits, of them of everything
        {2, 1, 1},
        {3, 1, 1},
        {4, 3, 0},
    };
    for (const auto& [cheaper_from, visits, of_everything] : rows) {
      test::FakeConntrackTable table;
      table.whole_cheaper_from = cheaper_from;
      for (const SocketAddress& to : {kVip, kExternal, kNodePort}) table.add(kClient, to, kE2);
      const auto kept = table.add(kClient, kElsewhere, kE2).id;
      const auto pass = reconcile_conntrack(base::Family::ipv4, state_, work_, table, std::atomic<bool>(false));
      CPPUNIT_ASSERT(pass.ok());
      CPPUNIT_ASSERT_EQUAL(visits, table.visits);
      CPPUNIT_ASSERT_EQUAL(of_everything, table.visits_of_everything);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), pass->deleted);
      CPPUNIT_ASSERT(table.has(kept));
    }
    // One narrow visit is never widened.
    work_ = {};
    work_.note_retired(kVip);
    test::FakeConntrackTable table;
    table.whole_cheaper_from = 0;
    CPPUNIT_ASSERT(reconcile_conntrack(base::Family::ipv4, state_, work_, table, std::atomic<bool>(false)).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), table.visits);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), table.visits_of_everything);
  }

  void a_kernel_that_ignores_filters_is_asked_for_all_flows_next() {
    class Table : public test::FakeConntrackTable {
     public:
      FlowQuery askable(base::Family, const FlowQuery& query) const override {
        return visits == 0 ? query : FlowQuery{};
      }
    };
    set(udp_port({kVip, kExternal}, 30053, {kE1}));
    Table table;
    CPPUNIT_ASSERT(reconcile_conntrack(base::Family::ipv4, state_, work_, table, std::atomic<bool>(false)).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), table.visits);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), table.visits_of_everything);
  }

  void stop_ends_a_pass() {
    set(udp_port({kVip}, 0, {kE1}));
    test::FakeConntrackTable table;
    for (std::uint16_t i = 0; i < 100; ++i) table.add({kClient.address, i}, kVip, kE2);
    const auto pass = reconcile_conntrack(base::Family::ipv4, state_, work_, table, std::atomic<bool>(true));
    CPPUNIT_ASSERT(pass.ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), pass->seen);
  }

  void a_failure_is_told() {
    test::FakeConntrackTable table;
    table.failure = base::errno_status("reading", EPERM);
    work_.note_everything();
    const auto pass = reconcile_conntrack(base::Family::ipv4, state_, work_, table, std::atomic<bool>(false));
    CPPUNIT_ASSERT(pass.status().code() == base::StatusCode::denied);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), table.visits);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackStateTest);

}  // namespace state_test
}  // namespace sluice::conntrack

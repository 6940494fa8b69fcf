// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The decision which flows are stale, the queries that find them, and scans of a table that changes meanwhile.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <array>
#include <atomic>

#include "core/conntrack/mailbox.hpp"
#include "core/conntrack/scan.hpp"
#include "test/unit/conntrack/fakes.hpp"

namespace sluice::conntrack {
namespace state_test {

using lib::SocketAddress;
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
  CPPUNIT_TEST(a_flow_to_a_removed_endpoint_is_stale);
  CPPUNIT_TEST(a_flow_to_the_last_endpoint_is_stale_once_it_is_removed);
  CPPUNIT_TEST(an_untranslated_flow_is_stale_once_an_endpoint_serves);
  CPPUNIT_TEST(node_ports_apply_only_to_addresses_of_the_node);
  CPPUNIT_TEST(translated_flows_to_a_retired_frontend_are_stale);
  CPPUNIT_TEST(an_address_of_two_services_keeps_the_flows_of_both);
  CPPUNIT_TEST(a_relayed_port_is_served_at_the_relay_ports_of_the_node);
  CPPUNIT_TEST(an_entry_that_a_relay_has_created_is_kept);
  CPPUNIT_TEST(a_change_of_relays_queries_by_port);
  CPPUNIT_TEST(changes_that_leave_no_stale_flow_need_no_query);
  CPPUNIT_TEST(a_small_change_needs_narrow_queries);
  CPPUNIT_TEST(many_changes_need_one_full_scan);
  CPPUNIT_TEST(retired_addresses_are_bounded);
  CPPUNIT_TEST(keeps_the_work_of_a_superseded_state);
  CPPUNIT_TEST(serializes_frontends);
  CPPUNIT_TEST(rejects_malformed_frontends_with_the_line);
  CPPUNIT_TEST(retries_interrupted_dumps_and_then_accepts_a_partial_scan);
  CPPUNIT_TEST(a_scan_dumps_all_flows_once_if_that_costs_less);
  CPPUNIT_TEST(a_kernel_that_ignores_filters_gets_a_full_dump_next);
  CPPUNIT_TEST(stop_ends_a_scan);
  CPPUNIT_TEST(returns_the_failure_of_a_dump);
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

  void a_flow_to_a_removed_endpoint_is_stale() {
    set(udp_port({kVip, kExternal}, 0, {kE1}));
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kVip, kE2));
    CPPUNIT_ASSERT(stale(kExternal, kE2));
    // The same pod at another port is another endpoint.
    CPPUNIT_ASSERT(stale(kVip, {kE1.address, 5354}));
    // Another port of the address does not belong to the Service.
    CPPUNIT_ASSERT(!stale({kVip.address, 54}, kE2));
  }

  void a_flow_to_the_last_endpoint_is_stale_once_it_is_removed() {
    set(udp_port({kVip}, 30053, {}));
    CPPUNIT_ASSERT(stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kNodePort, kE1));
    CPPUNIT_ASSERT(!stale(kVip, kVip));
  }

  void an_untranslated_flow_is_stale_once_an_endpoint_serves() {
    set(udp_port({kVip}, 30053, {}));
    CPPUNIT_ASSERT(!stale(kVip, kVip));
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(stale(kVip, kVip));
    CPPUNIT_ASSERT(stale(kNodePort, kNodePort));
  }

  void node_ports_apply_only_to_addresses_of_the_node() {
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

  void translated_flows_to_a_retired_frontend_are_stale() {
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    set(nullptr);
    CPPUNIT_ASSERT(stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kNodePort, kE1));
    CPPUNIT_ASSERT(!stale(kVip, kVip));
    CPPUNIT_ASSERT(!stale(kElsewhere, kE1));
    // Another Service uses the frontend again.
    set(udp_port({kVip}, 30053, {kE1}), "svc2");
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    CPPUNIT_ASSERT(!stale(kNodePort, kE1));
  }

  void an_address_of_two_services_keeps_the_flows_of_both() {
    set(udp_port({kExternal}, 0, {kE1}));
    set(udp_port({kExternal}, 0, {kE2}), "svc2");
    CPPUNIT_ASSERT(!stale(kExternal, kE1));
    CPPUNIT_ASSERT(!stale(kExternal, kE2));
    set(nullptr, "svc2");
    CPPUNIT_ASSERT(!stale(kExternal, kE1));
    CPPUNIT_ASSERT(stale(kExternal, kE2));
  }

  void a_relayed_port_is_served_at_the_relay_ports_of_the_node() {
    set(udp_port({kVip}, 30053, {kE1}, {40001, 40002}));
    CPPUNIT_ASSERT(!stale(kVip, {kNodePort.address, 40001}));
    CPPUNIT_ASSERT(!stale(kVip, {kNodePort.address, 40002}));
    CPPUNIT_ASSERT(!stale(kVip, {kLoopback.address, 40002}));
    CPPUNIT_ASSERT(!stale(kNodePort, {kNodePort.address, 40001}));
    // A flow from before a change of the mode.
    CPPUNIT_ASSERT(!stale(kVip, kE1));
    // Ports without a relay, and relay ports of another address.
    CPPUNIT_ASSERT(stale(kVip, {kNodePort.address, 40003}));
    CPPUNIT_ASSERT(stale(kVip, {kE1.address, 40001}));
    CPPUNIT_ASSERT(stale(kVip, kE2));
    CPPUNIT_ASSERT(stale(kVip, kVip));
    CPPUNIT_ASSERT(!stale(kElsewhere, {kNodePort.address, 40003}));
    // The relay also receives packets for a Service without endpoints.
    set(udp_port({kVip}, 30053, {}, {40001}));
    CPPUNIT_ASSERT(!stale(kVip, {kNodePort.address, 40001}));
    CPPUNIT_ASSERT(stale(kVip, kVip));
    // Back to a mode that translates.
    set(udp_port({kVip}, 30053, {kE1}));
    CPPUNIT_ASSERT(stale(kVip, {kNodePort.address, 40001}));
    // An address that the node no longer has.
    set(udp_port({kVip}, 30053, {kE1}, {40001}));
    UdpChange change;
    change.node_ports = std::make_shared<const NodePortScope>();
    state_.apply(change, work_);
    CPPUNIT_ASSERT(stale(kVip, {kNodePort.address, 40001}));
  }

  // From a socket of this node to an endpoint, which sees the client.
  void an_entry_that_a_relay_has_created_is_kept() {
    const Flow created{{kNodePort.address, 32769}, kE1, kE1, kClient, ++id_};
    for (const auto& serving : {std::vector{kE1}, std::vector{kE2}, std::vector<SocketAddress>()}) {
      set(udp_port({kVip}, 30053, serving));
      CPPUNIT_ASSERT(!state_.stale(created, work_));
    }
    set(nullptr);
    CPPUNIT_ASSERT(!state_.stale(created, work_));
  }

  void a_change_of_relays_queries_by_port() {
    const FlowQuery node_port{std::nullopt, 30053, std::nullopt, 0};
    const auto at_port = [](std::uint16_t port) { return FlowQuery{std::nullopt, 0, std::nullopt, port}; };
    // Flows from before the relay port was open.
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
    // The endpoints existed, but there was no relay.
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1}, {40001}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), node_port}));
    // The frontends cover the flows of a removed port.
    work_ = {};
    set(nullptr);
    CPPUNIT_ASSERT((work_.queries() == std::vector{to(kVip), node_port}));
  }

  void changes_that_leave_no_stale_flow_need_no_query() {
    set(udp_port({kVip}, 30053, {}));
    CPPUNIT_ASSERT(work_.empty());
    set(udp_port({kVip}, 30053, {kE1}));
    work_ = {};
    set(udp_port({kVip}, 30053, {kE1, kE2}));
    CPPUNIT_ASSERT(work_.empty());
    set(udp_port({kVip}, 30053, {kE1, kE2}));
    CPPUNIT_ASSERT(work_.empty());
  }

  void a_small_change_needs_narrow_queries() {
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

  void many_changes_need_one_full_scan() {
    std::vector<SocketAddress> endpoints;
    for (std::uint8_t i = 1; i <= ConntrackWork::kMostQueries + 1; ++i) {
      endpoints.push_back(at("10.180.1." + std::to_string(i), 53));
    }
    set(udp_port({kVip}, 0, endpoints));
    work_ = {};
    set(udp_port({kVip}, 0, {}));
    CPPUNIT_ASSERT((work_.queries() == std::vector{FlowQuery{}}));
    CPPUNIT_ASSERT(work_.full_scan());
  }

  void retired_addresses_are_bounded() {
    ConntrackWork more;
    for (std::uint32_t i = 0; i < 2 * ConntrackWork::kMostRetired; ++i) {
      const std::array<std::uint8_t, 4> bytes{203, static_cast<std::uint8_t>(i >> 16),
                                              static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
      const SocketAddress frontend{lib::IpAddress::from_bytes(lib::Family::ipv4, bytes.data()), 53};
      (i % 2 == 0 ? work_ : more).note_retired(frontend);
    }
    CPPUNIT_ASSERT_EQUAL(ConntrackWork::kMostRetired, work_.retired().size());
    work_.merge(more);
    CPPUNIT_ASSERT_EQUAL(ConntrackWork::kMostRetired, work_.retired().size());
    CPPUNIT_ASSERT(work_.full_scan());
  }

  void keeps_the_work_of_a_superseded_state() {
    ConntrackMailbox mailbox;
    const auto put = [&](UdpPortPtr port, bool full = false) {
      UdpChange change;
      change.full = full;
      if (port || !full) change.ports.emplace_back(udp_key("svc1"), std::move(port));
      mailbox.put(std::move(change));
    };
    CPPUNIT_ASSERT(mailbox.empty());
    // An endpoint is added and removed, then a Service is removed and added.
    put(udp_port({kVip}, 0, {kE1, kE2}));
    put(udp_port({kVip}, 0, {kE1}));
    auto contents = mailbox.take();
    CPPUNIT_ASSERT(mailbox.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), contents.change.ports.size());
    CPPUNIT_ASSERT((contents.work.queries() == std::vector{from(kE2)}));
    put(nullptr);
    put(udp_port({kVip}, 0, {kE1}));
    contents = mailbox.take();
    CPPUNIT_ASSERT((contents.work.queries() == std::vector{to(kVip)}));
    // A full update without the port.
    put(udp_port({kVip}, 0, {kE1}));
    put(nullptr, true);
    contents = mailbox.take();
    CPPUNIT_ASSERT(contents.change.full && contents.change.ports.empty());
    CPPUNIT_ASSERT(contents.work.retired().contains(kVip));
  }

  void serializes_frontends() {
    CPPUNIT_ASSERT(state_.take_frontends_changed());
    CPPUNIT_ASSERT(!state_.take_frontends_changed());
    set(udp_port({kVip, at("fd00::a", 53)}, 30053, {kE1}));
    CPPUNIT_ASSERT(state_.take_frontends_changed());
    const std::string text = state_.serialize_frontends();
    CPPUNIT_ASSERT_EQUAL(std::string("sluice-udp-frontends 1\n172.30.0.10 53\nfd00::a 53\nnode-port 30053\n"), text);
    set(udp_port({kVip, at("fd00::a", 53)}, 30053, {kE2}));
    CPPUNIT_ASSERT(!state_.take_frontends_changed());

    set(nullptr);
    work_ = {};
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), *ConntrackState::parse_frontends(text, work_));
    CPPUNIT_ASSERT(stale(kVip, kE1));
    CPPUNIT_ASSERT(stale(kNodePort, kE1));
    CPPUNIT_ASSERT(!stale(kExternal, kE1));
  }

  void rejects_malformed_frontends_with_the_line() {
    const std::string header = "sluice-udp-frontends 1\n";
    const auto message = [&](const std::string& text) {
      return ConntrackState::parse_frontends(text, work_).status().message();
    };
    CPPUNIT_ASSERT_EQUAL(std::string("line 1 is not \"sluice-udp-frontends 1\""), message("sluice-udp-frontends 2\n"));
    for (const char* line :
         {"10.0.0.1", "10.0.0.1 ", "10.0.0.1 0", "10.0.0.1 65536", "10.0.0.1 53x", "somewhere 53", " 53"}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(line, std::string("line 3 is neither \"ADDRESS PORT\" nor \"node-port PORT\""),
                                   message(header + "10.0.0.1 53\n" + line + "\n"));
    }
    CPPUNIT_ASSERT(ConntrackState::parse_frontends("", work_).ok());
    CPPUNIT_ASSERT(ConntrackState::parse_frontends(header, work_).ok());
  }

  void retries_interrupted_dumps_and_then_accepts_a_partial_scan() {
    set(udp_port({kVip}, 0, {kE1}));
    work_ = {};
    work_.note_full_scan();
    const std::atomic<bool> stop{false};
    for (const int interruptions : {0, 1, kConntrackAttempts - 1, kConntrackAttempts, 1000}) {
      test::FakeConntrackTable table;
      for (std::uint16_t i = 0; i < 4; ++i) table.add({kClient.address, i}, kVip, kE2);
      table.add({kClient.address, 9}, kVip, kE1);
      table.interruptions = interruptions;
      const auto scan = reconcile_conntrack(lib::Family::ipv4, state_, work_, table, stop);
      CPPUNIT_ASSERT(scan.ok());
      const bool partial = interruptions >= kConntrackAttempts;
      CPPUNIT_ASSERT_EQUAL(partial, scan->partial);
      CPPUNIT_ASSERT_EQUAL(std::size_t(std::min(interruptions + 1, kConntrackAttempts)), table.dumps);
      if (partial) {
        CPPUNIT_ASSERT(scan->deleted >= 2);  // what was read
      } else {
        CPPUNIT_ASSERT_EQUAL(std::uint64_t(4), scan->deleted);
      }
    }
  }

  void a_scan_dumps_all_flows_once_if_that_costs_less() {
    set(udp_port({kVip, kExternal}, 30053, {kE1}));
    CPPUNIT_ASSERT_EQUAL(std::size_t(3), work_.queries().size());
    const std::size_t rows[][3] = {
        // full_dump_cheaper_from, dumps, full dumps
        {2, 1, 1},
        {3, 1, 1},
        {4, 3, 0},
    };
    for (const auto& [cheaper_from, dumps, full_dumps] : rows) {
      test::FakeConntrackTable table;
      table.full_dump_cheaper_from = cheaper_from;
      for (const SocketAddress& to : {kVip, kExternal, kNodePort}) table.add(kClient, to, kE2);
      const auto kept = table.add(kClient, kElsewhere, kE2).id;
      const auto scan = reconcile_conntrack(lib::Family::ipv4, state_, work_, table, std::atomic<bool>(false));
      CPPUNIT_ASSERT(scan.ok());
      CPPUNIT_ASSERT_EQUAL(dumps, table.dumps);
      CPPUNIT_ASSERT_EQUAL(full_dumps, table.full_dumps);
      CPPUNIT_ASSERT_EQUAL(std::uint64_t(3), scan->deleted);
      CPPUNIT_ASSERT(table.has(kept));
    }
    // One filtered dump is never widened.
    work_ = {};
    work_.note_retired(kVip);
    test::FakeConntrackTable table;
    table.full_dump_cheaper_from = 0;
    CPPUNIT_ASSERT(reconcile_conntrack(lib::Family::ipv4, state_, work_, table, std::atomic<bool>(false)).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), table.dumps);
    CPPUNIT_ASSERT_EQUAL(std::size_t(0), table.full_dumps);
  }

  void a_kernel_that_ignores_filters_gets_a_full_dump_next() {
    class Table : public test::FakeConntrackTable {
     public:
      FlowQuery supported_query(lib::Family, const FlowQuery& query) const override {
        return dumps == 0 ? query : FlowQuery{};
      }
    };
    set(udp_port({kVip, kExternal}, 30053, {kE1}));
    Table table;
    CPPUNIT_ASSERT(reconcile_conntrack(lib::Family::ipv4, state_, work_, table, std::atomic<bool>(false)).ok());
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), table.dumps);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), table.full_dumps);
  }

  void stop_ends_a_scan() {
    set(udp_port({kVip}, 0, {kE1}));
    test::FakeConntrackTable table;
    for (std::uint16_t i = 0; i < 100; ++i) table.add({kClient.address, i}, kVip, kE2);
    const auto scan = reconcile_conntrack(lib::Family::ipv4, state_, work_, table, std::atomic<bool>(true));
    CPPUNIT_ASSERT(scan.ok());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t(1), scan->scanned);
  }

  void returns_the_failure_of_a_dump() {
    test::FakeConntrackTable table;
    table.failure = lib::errno_status("reading", EPERM);
    work_.note_full_scan();
    const auto scan = reconcile_conntrack(lib::Family::ipv4, state_, work_, table, std::atomic<bool>(false));
    CPPUNIT_ASSERT(scan.status().code() == lib::StatusCode::denied);
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), table.dumps);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ConntrackStateTest);

}  // namespace state_test
}  // namespace sluice::conntrack

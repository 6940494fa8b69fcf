// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Objects in the kernel that differ from what the backend wrote.
#include <cppunit/extensions/HelperMacros.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::userspace {
namespace drift_rows_test {

using test::ServiceSpec;
using test::UserspaceRig;

class UserspaceDriftRowsTest : public test::UserspaceFixture, private test::InspectionExamples {
  CPPUNIT_TEST_SUITE(UserspaceDriftRowsTest);
  CPPUNIT_TEST(a_healthy_node_has_no_drift);
  CPPUNIT_TEST(whatever_verify_repairs_is_listed);
  CPPUNIT_TEST(missing_rules_are_listed);
  CPPUNIT_TEST(changed_rules_show_both_texts);
  CPPUNIT_TEST(rules_in_another_order_are_listed);
  CPPUNIT_TEST(a_missing_chain_is_listed_with_its_rules);
  CPPUNIT_TEST(jumps_are_compared);
  CPPUNIT_TEST(extra_rules_are_listed);
  CPPUNIT_TEST(foreign_rules_are_listed);
  CPPUNIT_TEST(a_socket_that_does_not_listen_is_listed);
  CPPUNIT_TEST(rows_of_one_service_are_listed);
  CPPUNIT_TEST(verify_still_finds_the_drift);
  CPPUNIT_TEST(before_the_first_apply_the_call_asks_for_a_retry);
  CPPUNIT_TEST_SUITE_END();

  // Both policies, affinity, source ranges, node ports, no endpoints.
  static std::vector<ServiceSpec> rich() {
    ServiceSpec local = example(2);
    local.node_port = 30001;
    local.external_local = true;
    local.vips = {"1.2.3.5"};
    local.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    ServiceSpec sticky = example(3);
    sticky.affinity_seconds = 60;
    sticky.protocol = abi::Protocol::kUdp;
    sticky.node_port = 30002;
    ServiceSpec remote = example(4);
    remote.endpoints.pop_back();
    remote.internal_local = true;
    remote.external_local = true;
    remote.external_ips = {"192.0.2.10"};
    ServiceSpec empty = example(5);
    empty.endpoints.clear();
    empty.node_port = 30003;
    return {balanced(), local, sticky, remote, empty};
  }
  void full(const std::vector<ServiceSpec>& services) { test::ok(rig(), rig().full(services)); }
  void expect(const std::vector<std::string>& rows) { CPPUNIT_ASSERT_EQUAL(text(rows), text(rig().drift())); }
  test::FakeKernel::Rules& rules(const std::string& table, const std::string& chain) {
    return rig().kernel.tables.at(table).at(chain);
  }
  void erase(const std::string& table, const std::string& chain, const std::string& part) {
    erase_rules(rig().kernel, table, chain, part);
  }
  std::string redirect(const std::string& to = "172.30.0.41") {
    return "-m comment --comment ns1/svc1:p80 -p tcp -m tcp --dport 80 -d " + to +
           "/32 -j DNAT --to-destination 127.0.0.1:" + std::to_string(rig().port("ns1/svc1"));
  }

  void a_healthy_node_has_no_drift() {
    full(rich());
    expect({});
    rig().kernel.foreign(
        "*nat\n:CNI-HOSTPORT-DNAT - [0:0]\n-A PREROUTING -j CNI-HOSTPORT-DNAT\nCOMMIT\n"
        "*filter\n-I INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n-I FORWARD -j LOG\nCOMMIT\n");
    expect({});
    test::ok(rig(), rig().delta({}, {rich().back()}));
    expect({});
  }

  void whatever_verify_repairs_is_listed() {
    full(rich());
    const auto written = rig().kernel.tables;
    std::size_t compared = 0;
    for (const auto& [table, chains] : written) {
      for (const auto& [chain, list] : chains) {
        for (std::size_t i = 0; i < list.size(); ++i) {
          test::FakeKernel::Rules& now = rules(table, chain);
          now.erase(now.begin() + static_cast<std::ptrdiff_t>(i));
          const std::vector<std::string> rows = rig().drift();
          CPPUNIT_ASSERT_EQUAL_MESSAGE(list[i] + text(rows), std::size_t{1}, rows.size());
          CPPUNIT_ASSERT_MESSAGE(rows[0], rows[0].starts_with("missing ") && rows[0].ends_with(": " + list[i]));
          rig().kernel.tables = written;
          ++compared;
        }
      }
    }
    CPPUNIT_ASSERT(compared > 40);
    expect({});
  }

  void missing_rules_are_listed() {
    full({example()});
    const std::string rule = redirect();
    erase("nat", "KUBE-PORTALS-HOST", "172.30.0.41");
    expect({"missing ns1/svc1:p80 rule in nat KUBE-PORTALS-HOST: " + rule});
  }

  void changed_rules_show_both_texts() {
    full({example()});
    const std::string rule = redirect();
    std::string changed = rule;
    changed.replace(changed.rfind(':'), std::string::npos, ":9");
    rules("nat", "KUBE-PORTALS-HOST").front() = changed;
    expect({"changed ns1/svc1:p80 rule in nat KUBE-PORTALS-HOST: " + rule + " -> " + changed});
  }

  void rules_in_another_order_are_listed() {
    ServiceSpec service = example();
    service.external_ips = {"192.0.2.10"};
    full({service});
    test::FakeKernel::Rules& now = rules("nat", "KUBE-PORTALS-HOST");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, now.size());
    const std::string last = now[1];
    std::swap(now[0], now[1]);
    expect({"changed ns1/svc1:p80 rule in nat KUBE-PORTALS-HOST: " + last +
            " -> the same rule, above rules that must precede it"});
  }

  void a_missing_chain_is_listed_with_its_rules() {
    full({example()});
    const std::string rule = redirect();
    erase("nat", "OUTPUT", "KUBE-PORTALS-HOST");
    rig().kernel.tables.at("nat").erase("KUBE-PORTALS-HOST");
    const std::vector<std::string> rows = rig().drift();
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rows.size());
    CPPUNIT_ASSERT_EQUAL("missing ns1/svc1:p80 rule in nat KUBE-PORTALS-HOST: " + rule, rows[0]);
    CPPUNIT_ASSERT_MESSAGE(rows[1], rows[1].starts_with("missing jump from nat OUTPUT to KUBE-PORTALS-HOST: -m mark "));
    CPPUNIT_ASSERT_EQUAL(std::string("missing chain nat KUBE-PORTALS-HOST"), rows[2]);
  }

  void jumps_are_compared() {
    full({example()});
    test::FakeKernel::Rules& now = rules("nat", "PREROUTING");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, now.size());
    const std::string last = now[1];
    now.push_back(now[0]);
    const std::string front = " jump from nat PREROUTING to KUBE-PORTALS-CONTAINER: -> ";
    expect({"extra" + front + now[0]});
    now = {last, now[0]};
    expect({"changed jump from nat PREROUTING to KUBE-NODEPORT-CONTAINER: " + last +
            " -> the same rule, above rules that must precede it"});
  }

  void extra_rules_are_listed() {
    full({example()});
    const std::string mine = redirect("172.30.0.99");
    rig().kernel.foreign("*nat\n-A KUBE-PORTALS-HOST " + mine +
                         "\n-A KUBE-PORTALS-HOST -m comment --comment a/b:c -j RETURN\nCOMMIT\n");
    expect({"extra ns1/svc1:p80 rule in nat KUBE-PORTALS-HOST: -> " + mine,
            "extra rule in nat KUBE-PORTALS-HOST: -> -m comment --comment a/b:c -j RETURN"});
  }

  void foreign_rules_are_listed() {
    full({example()});
    rig().kernel.foreign(
        "*nat\n:OTHER - [0:0]\n-A OTHER -j KUBE-PORTALS-HOST\n-I PREROUTING -p tcp -j ACCEPT\n"
        "-A PREROUTING -p udp -j ACCEPT\n-A OUTPUT -j KUBE-NODEPORT-HOST\nCOMMIT\n");
    expect({"foreign rule of another program above the jumps in nat PREROUTING: -> -p tcp -j ACCEPT",
            "foreign jump from nat OUTPUT to KUBE-NODEPORT-HOST: -> -j KUBE-NODEPORT-HOST",
            "foreign rules in other chains that jump to nat KUBE-PORTALS-HOST"});
    test::ok(rig(), rig().verify());
  }

  void a_socket_that_does_not_listen_is_listed() {
    full({example()});
    const std::uint16_t port = rig().port("ns1/svc1");
    CPPUNIT_ASSERT_EQUAL(0, shutdown(test::listener_at(port), SHUT_RDWR));
    expect({"changed ns1/svc1:p80 proxy socket " + std::to_string(port) +
            "/tcp: receives the clients of this service port -> it does not listen"});
  }

  void rows_of_one_service_are_listed() {
    full({example(), example(2)});
    rules("nat", "KUBE-PORTALS-HOST").clear();
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig().drift().size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().drift("ns1/svc2").size());
    CPPUNIT_ASSERT(rig().drift("ns1/svc3").empty());
  }

  void verify_still_finds_the_drift() {
    full({example()});
    const std::string rule = redirect();
    rig().kernel.foreign("*nat\n-D KUBE-PORTALS-HOST " + rule + "\nCOMMIT\n");
    const auto before = rig().kernel.tables;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig().drift().size());
    CPPUNIT_ASSERT(before == rig().kernel.tables);
    CPPUNIT_ASSERT(rig().verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL("the rule \"" + rule + "\" in nat KUBE-PORTALS-HOST is gone",
                         std::string(rig().error.message));
    full({example()});
    expect({});
    test::ok(rig(), rig().verify());
  }

  void before_the_first_apply_the_call_asks_for_a_retry() {
    CPPUNIT_ASSERT(rig().drift().empty());
    CPPUNIT_ASSERT(rig().inspected == abi::Code::kRetry);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UserspaceDriftRowsTest);

}  // namespace drift_rows_test
}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Drift detection, and removal.
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/ipvs/backend_fixture.hpp"

namespace sluice::test {
namespace backend_upkeep_test {

class IpvsUpkeepTest : public IpvsFixture {
  CPPUNIT_TEST_SUITE(IpvsUpkeepTest);
  CPPUNIT_TEST(each_kind_of_drift_is_found_and_repaired);
  CPPUNIT_TEST(drift_of_all_parts_is_one_sentence);
  CPPUNIT_TEST(an_unreadable_part_does_not_hide_drift);
  CPPUNIT_TEST(expensive_checks_are_followed_by_a_rest);
  CPPUNIT_TEST(waiting_for_the_ipset_lock_causes_no_rest);
  CPPUNIT_TEST(a_clash_with_a_listener_is_one_warning);
  CPPUNIT_TEST(cleanup_removes_everything_of_ours);
  CPPUNIT_TEST(cleanup_of_an_earlier_process);
  CPPUNIT_TEST(cleanup_loads_no_modules);
  CPPUNIT_TEST(cleanup_continues_after_a_failure);
  CPPUNIT_TEST(cleanup_continues_after_unreadable_parts);
  CPPUNIT_TEST(cleanup_without_sets_identifies_servers_by_the_link);
  CPPUNIT_TEST(claims_name_everything);
  CPPUNIT_TEST(drains_end_while_nothing_can_be_written);
  CPPUNIT_TEST(drains_end_with_a_full_transaction);
  CPPUNIT_TEST_SUITE_END();

  void each_kind_of_drift_is_found_and_repaired() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    const std::string whole = bench.kernel_text();
    const ipvs::ServerKey key = bench.key("172.30.0.1", 80);
    const std::vector<std::pair<std::string, std::function<void()>>> changes{
        {"virtual server", [&] { bench.servers.held.clear(); }},
        {"real server", [&] { bench.servers.held.at(key).real.erase(bench.servers.held.at(key).real.begin()); }},
        {"KUBE-CLUSTER-IP", [&] { bench.sets.sets.at("KUBE-CLUSTER-IP").entries.clear(); }},
        {"KUBE-NODE-PORT-TCP", [&] { bench.sets.sets.erase("KUBE-NODE-PORT-TCP"); }},
        {"kube-ipvs0", [&] { bench.links.links.clear(); }},
        {"kube-ipvs0", [&] { bench.links.links.at("kube-ipvs0").addresses[kFamily].erase(address("172.30.0.1")); }},
        {"KUBE-SERVICES", [&] { bench.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n"); }},
    };
    for (const auto& [named, change] : changes) {
      ok(bench, bench.verify());
      bench.host.clock += 60'000'000'000;
      change();
      CPPUNIT_ASSERT_MESSAGE(named, bench.verify() == abi::Code::kNeedFull);
      CPPUNIT_ASSERT_MESSAGE(bench.error.message, has(bench.error.message, named));
      CPPUNIT_ASSERT(bench.delta({}) == abi::Code::kNeedFull);
      ok(bench, bench.full(services()));
      CPPUNIT_ASSERT_EQUAL(whole, bench.kernel_text());
    }
  }

  void drift_of_all_parts_is_one_sentence() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    const std::string whole = bench.kernel_text();
    bench.servers.held.clear();
    bench.links.links.clear();
    bench.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    bench.sets.sets.clear();
    CPPUNIT_ASSERT(bench.verify() == abi::Code::kNeedFull);
    for (const std::string part : {"virtual server", "KUBE-", "kube-ipvs0"}) {
      CPPUNIT_ASSERT_MESSAGE(bench.error.message, has(bench.error.message, part));
    }
    ok(bench, bench.full(services()));
    CPPUNIT_ASSERT_EQUAL(whole, bench.kernel_text());
  }

  void an_unreadable_part_does_not_hide_drift() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.servers.dumps_left = 0;
    CPPUNIT_ASSERT(bench.verify() == abi::Code::kRetry);
    bench.host.clock += 60'000'000'000;
    ok(bench, bench.verify());
    ok(bench, bench.delta({}));  // the failed check had no effect
    bench.host.clock += 60'000'000'000;
    bench.servers.dumps_left = 0;
    bench.links.links.clear();
    CPPUNIT_ASSERT(bench.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(has(bench.error.message, "kube-ipvs0"));
  }

  void expensive_checks_are_followed_by_a_rest() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.host.step = 1'000'000'000;  // each reading of the clock is a second later
    ok(bench, bench.verify());
    bench.host.step = 1;
    const std::uint64_t dumps = bench.servers.server_dumps + bench.sets.reads;
    ok(bench, bench.verify());
    CPPUNIT_ASSERT_EQUAL(dumps, bench.servers.server_dumps + bench.sets.reads);
    bench.host.clock += 2'000'000'000'000;
    ok(bench, bench.verify());
    CPPUNIT_ASSERT(bench.servers.server_dumps + bench.sets.reads > dumps);
  }

  void waiting_for_the_ipset_lock_causes_no_rest() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.sets.before = [&] {
      bench.host.clock += 100'000'000;
      bench.sets.waiting += 100'000'000;
    };
    ok(bench, bench.verify());
    const std::uint64_t reads = bench.sets.reads;
    bench.host.clock += 1'000'000'000;
    ok(bench, bench.verify());
    CPPUNIT_ASSERT_EQUAL(reads + ipvs::kSets, bench.sets.reads);
    bench.sets.before = [&] { bench.host.clock += 100'000'000; };
    bench.host.clock += 1'000'000'000;
    ok(bench, bench.verify());
    CPPUNIT_ASSERT_EQUAL(reads + 2 * ipvs::kSets, bench.sets.reads);
    bench.host.clock += 1'000'000'000;
    ok(bench, bench.verify());
    CPPUNIT_ASSERT_EQUAL(reads + 2 * ipvs::kSets, bench.sets.reads);
  }

  void a_clash_with_a_listener_is_one_warning() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.listening[bench.key("0.0.0.0", 30002)] = "unused";
    bench.listening[bench.key("127.0.0.1", 30001)] = "unused";
    bench.listening[bench.key("0.0.0.0", 30001, abi::Protocol::kUdp)] = "unused";
    ok(bench, bench.verify());
    CPPUNIT_ASSERT(bench.host.events.empty());
    bench.listening[bench.key("192.168.0.2", 30001)] = "nginx (process 812)";
    for (int i = 0; i < 3; ++i) ok(bench, bench.verify());
    CPPUNIT_ASSERT_EQUAL(
        std::string("node port 30001/TCP of bench/svc-0:p80 is listened on by nginx (process 812) too: the "
                    "Service gets its connections; give one of them another port\n"),
        bench.logged(abi::Severity::kWarning));
    CPPUNIT_ASSERT(bench.host.events == std::vector<std::string>{"NodePortInUse"});
    // Gone, and back again.
    bench.listening.clear();
    ok(bench, bench.verify());
    bench.listening[bench.key("0.0.0.0", 30001)] = "nginx (process 900)";
    ok(bench, bench.verify());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, bench.host.events.size());
    CPPUNIT_ASSERT(bench.host.failed.empty());
  }

  void cleanup_removes_everything_of_ours() {
    IpvsBench bench;
    const std::string nothing = bench.rules.text();
    ok(bench, bench.full(services()));
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.sets.text());
    CPPUNIT_ASSERT_EQUAL(nothing, bench.rules.text());
    CPPUNIT_ASSERT(bench.delta({}) == abi::Code::kNeedFull);
    const std::uint64_t sent = bench.messages();
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(sent, bench.messages());
  }

  void cleanup_of_an_earlier_process() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.restart();
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.sets.text());
  }

  void cleanup_loads_no_modules() {
    IpvsBench bench;
    bench.has_ipvs = false;
    bench.has_sets = false;
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.servers.dumps());
    CPPUNIT_ASSERT(bench.sets.calls.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, bench.messages());
    CPPUNIT_ASSERT_EQUAL(0u, bench.prepared);
  }

  void cleanup_continues_after_a_failure() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    bench.servers.commands_left = 0;
    CPPUNIT_ASSERT(bench.cleanup() == abi::Code::kRetry);
    CPPUNIT_ASSERT(!bench.servers.held.empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
    CPPUNIT_ASSERT(!bench.rules.has("nat", "KUBE-SERVICES"));
  }

  static void is_clean(const IpvsBench& bench) {
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.servers_text() + bench.links_text() + bench.sets.text());
    CPPUNIT_ASSERT(!bench.rules.has("nat", "KUBE-SERVICES"));
  }

  void cleanup_continues_after_unreadable_parts() {
    const sdk::Failure failure(abi::Code::kRetry, "", "broken by the test", 105);
    for (const std::string part : {"servers", "links", "node"}) {
      for (const bool again : {false, true}) {
        IpvsBench bench;
        ok(bench, bench.full(services()));
        if (again) bench.restart();
        if (part == "servers") bench.servers.dumps_left = 0;
        if (part == "node") bench.addresses_unread = true;
        bench.links.before = [&, broken = part == "links"](const std::string&) mutable {
          if (std::exchange(broken, false)) throw failure;
        };
        CPPUNIT_ASSERT_MESSAGE(part, bench.cleanup() == abi::Code::kRetry);
        bench.links.before = nullptr;
        bench.addresses_unread = false;
        CPPUNIT_ASSERT_EQUAL_MESSAGE(part, std::string(), bench.links_text());
        CPPUNIT_ASSERT_MESSAGE(part, !bench.rules.has("nat", "KUBE-SERVICES"));
        CPPUNIT_ASSERT_MESSAGE(part, part == "servers" || !has(bench.servers_text(), "172.30.0.1:80"));
        // The sets that identify our objects have stayed.
        bench.restart();
        ok(bench, bench.cleanup());
        is_clean(bench);
      }
    }
  }

  void cleanup_without_sets_identifies_servers_by_the_link() {
    IpvsBench bench;
    ok(bench, bench.full(services()));
    put_server(bench, bench.key("203.0.113.9", 80));
    bench.restart();
    bench.sets.fail_call = "header";
    CPPUNIT_ASSERT(bench.cleanup() == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2:30001/TCP rr 10.0.0.1:8080*1 10.0.0.2:8080*1\n"
                                     "203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n"),
                         bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.links_text());
    CPPUNIT_ASSERT(!bench.rules.has("nat", "KUBE-SERVICES"));
    ok(bench, bench.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string("203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n"), bench.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), bench.sets.text());
  }

  void claims_name_everything() {
    IpvsBench bench;
    const std::vector<std::string> claims = bench.claims();
    const auto claimed = [&](const std::string& what) {
      return std::find(claims.begin(), claims.end(), what) != claims.end();
    };
    for (const std::string what :
         {"link/kube-ipvs0", "ipvs/virtual-servers", "ipset/KUBE-CLUSTER-IP", "ipset/KUBE-LOAD-BALANCER-SOURCE-CIDR",
          "iptables/nat/KUBE-SERVICES", "iptables/nat/KUBE-IPVS-HANDOVER", "iptables/filter/KUBE-IPVS-OUT-FILTER"}) {
      CPPUNIT_ASSERT_MESSAGE(what, claimed(what));
    }
    IpvsBench six(abi::Family::kIpv6);
    const std::vector<std::string> other = six.claims();
    CPPUNIT_ASSERT(std::find(other.begin(), other.end(), "ipset/KUBE-6-CLUSTER-IP") != other.end());
    CPPUNIT_ASSERT(std::find(other.begin(), other.end(), "ip6tables/nat/KUBE-SERVICES") != other.end());
  }

  // A real server with a connection has just been removed.
  static std::vector<ServiceSpec> begin_drain(IpvsBench& bench) {
    ok(bench, bench.full(services()));
    std::vector<ServiceSpec> fewer = services();
    bench.servers.find(bench.key("172.30.0.3", 80), {address("10.0.0.6"), 8080})->connections = 1;
    fewer[2].endpoints.pop_back();
    ok(bench, bench.delta({fewer[2]}));
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1 10.0.0.6:8080*0\n"));
    return fewer;
  }

  void drains_end_while_nothing_can_be_written() {
    IpvsBench bench(kFamily, {{"whenEndpointRemoved", "drain"}, {"drainTimeout", "30s"}});
    begin_drain(bench);
    const auto fail_and_verify = [&] {
      bench.sets.fail_call = "header";
      CPPUNIT_ASSERT(bench.full(services()) == abi::Code::kRetry);
      CPPUNIT_ASSERT(bench.verify() == abi::Code::kNeedFull);
    };
    fail_and_verify();
    CPPUNIT_ASSERT(has(bench.servers_text(), "10.0.0.6:8080*0"));
    bench.host.clock += 31'000'000'000;
    // A part that cannot be read is retried.
    bench.servers.dumps_left = 0;
    fail_and_verify();
    CPPUNIT_ASSERT(has(bench.servers_text(), "10.0.0.6:8080*0"));
    fail_and_verify();
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1\n"));
    // A real server that has its weight back stays.
    ok(bench, bench.full(services()));
    begin_drain(bench);
    bench.servers.find(bench.key("172.30.0.3", 80), {address("10.0.0.6"), 8080})->weight = 1;
    bench.host.clock += 31'000'000'000;
    fail_and_verify();
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1 10.0.0.6:8080*1\n"));
  }

  void drains_end_with_a_full_transaction() {
    IpvsBench bench(kFamily, {{"whenEndpointRemoved", "drain"}, {"drainTimeout", "30s"}});
    const std::vector<ServiceSpec> fewer = begin_drain(bench);
    bench.host.clock += 31'000'000'000;
    ok(bench, bench.full(fewer));
    CPPUNIT_ASSERT(has(bench.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1\n"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsUpkeepTest);

}  // namespace backend_upkeep_test
}  // namespace sluice::test

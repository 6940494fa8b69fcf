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
    IpvsRig rig;
    ok(rig, rig.full(services()));
    const std::string whole = rig.kernel_text();
    const ipvs::ServerKey key = rig.key("172.30.0.1", 80);
    const std::vector<std::pair<std::string, std::function<void()>>> changes{
        {"virtual server", [&] { rig.servers.held.clear(); }},
        {"real server", [&] { rig.servers.held.at(key).real.erase(rig.servers.held.at(key).real.begin()); }},
        {"KUBE-CLUSTER-IP", [&] { rig.sets.sets.at("KUBE-CLUSTER-IP").entries.clear(); }},
        {"KUBE-NODE-PORT-TCP", [&] { rig.sets.sets.erase("KUBE-NODE-PORT-TCP"); }},
        {"kube-ipvs0", [&] { rig.links.links.clear(); }},
        {"kube-ipvs0", [&] { rig.links.links.at("kube-ipvs0").addresses[kFamily].erase(address("172.30.0.1")); }},
        {"KUBE-SERVICES", [&] { rig.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n"); }},
    };
    for (const auto& [named, change] : changes) {
      ok(rig, rig.verify());
      rig.host.clock += 60'000'000'000;
      change();
      CPPUNIT_ASSERT_MESSAGE(named, rig.verify() == abi::Code::kNeedFull);
      CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, named));
      CPPUNIT_ASSERT(rig.delta({}) == abi::Code::kNeedFull);
      ok(rig, rig.full(services()));
      CPPUNIT_ASSERT_EQUAL(whole, rig.kernel_text());
    }
  }

  void drift_of_all_parts_is_one_sentence() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    const std::string whole = rig.kernel_text();
    rig.servers.held.clear();
    rig.links.links.clear();
    rig.rules.foreign("*nat\n-F KUBE-SERVICES\nCOMMIT\n");
    rig.sets.sets.clear();
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    for (const std::string part : {"virtual server", "KUBE-", "kube-ipvs0"}) {
      CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, part));
    }
    ok(rig, rig.full(services()));
    CPPUNIT_ASSERT_EQUAL(whole, rig.kernel_text());
  }

  void an_unreadable_part_does_not_hide_drift() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.servers.dumps_left = 0;
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kRetry);
    rig.host.clock += 60'000'000'000;
    ok(rig, rig.verify());
    ok(rig, rig.delta({}));  // the failed check had no effect
    rig.host.clock += 60'000'000'000;
    rig.servers.dumps_left = 0;
    rig.links.links.clear();
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(has(rig.error.message, "kube-ipvs0"));
  }

  void expensive_checks_are_followed_by_a_rest() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.host.step = 1'000'000'000;  // each reading of the clock is a second later
    ok(rig, rig.verify());
    rig.host.step = 1;
    const std::uint64_t dumps = rig.servers.server_dumps + rig.sets.reads;
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(dumps, rig.servers.server_dumps + rig.sets.reads);
    rig.host.clock += 2'000'000'000'000;
    ok(rig, rig.verify());
    CPPUNIT_ASSERT(rig.servers.server_dumps + rig.sets.reads > dumps);
  }

  void waiting_for_the_ipset_lock_causes_no_rest() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.sets.before = [&] {
      rig.host.clock += 100'000'000;
      rig.sets.waiting += 100'000'000;
    };
    ok(rig, rig.verify());
    const std::uint64_t reads = rig.sets.reads;
    rig.host.clock += 1'000'000'000;
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(reads + ipvs::kSets, rig.sets.reads);
    rig.sets.before = [&] { rig.host.clock += 100'000'000; };
    rig.host.clock += 1'000'000'000;
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(reads + 2 * ipvs::kSets, rig.sets.reads);
    rig.host.clock += 1'000'000'000;
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(reads + 2 * ipvs::kSets, rig.sets.reads);
  }

  void a_clash_with_a_listener_is_one_warning() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.listening[rig.key("0.0.0.0", 30002)] = "unused";
    rig.listening[rig.key("127.0.0.1", 30001)] = "unused";
    rig.listening[rig.key("0.0.0.0", 30001, abi::Protocol::kUdp)] = "unused";
    ok(rig, rig.verify());
    CPPUNIT_ASSERT(rig.host.events.empty());
    rig.listening[rig.key("192.168.0.2", 30001)] = "nginx (process 812)";
    for (int i = 0; i < 3; ++i) ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(
        std::string("node port 30001/TCP of bench/svc-0:p80 is listened on by nginx (process 812) too: the "
                    "Service gets its connections; give one of them another port\n"),
        rig.logged(abi::Severity::kWarning));
    CPPUNIT_ASSERT(rig.host.events == std::vector<std::string>{"NodePortInUse"});
    // Gone, and back again.
    rig.listening.clear();
    ok(rig, rig.verify());
    rig.listening[rig.key("0.0.0.0", 30001)] = "nginx (process 900)";
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.events.size());
    CPPUNIT_ASSERT(rig.host.failed.empty());
  }

  void cleanup_removes_everything_of_ours() {
    IpvsRig rig;
    const std::string nothing = rig.rules.text();
    ok(rig, rig.full(services()));
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sets.text());
    CPPUNIT_ASSERT_EQUAL(nothing, rig.rules.text());
    CPPUNIT_ASSERT(rig.delta({}) == abi::Code::kNeedFull);
    const std::uint64_t sent = rig.messages();
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(sent, rig.messages());
  }

  void cleanup_of_an_earlier_process() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.restart();
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sets.text());
  }

  void cleanup_loads_no_modules() {
    IpvsRig rig;
    rig.has_ipvs = false;
    rig.has_sets = false;
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.servers.dumps());
    CPPUNIT_ASSERT(rig.sets.calls.empty());
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.messages());
    CPPUNIT_ASSERT_EQUAL(0u, rig.prepared);
  }

  void cleanup_continues_after_a_failure() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    rig.servers.commands_left = 0;
    CPPUNIT_ASSERT(rig.cleanup() == abi::Code::kRetry);
    CPPUNIT_ASSERT(!rig.servers.held.empty());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.links_text());
    CPPUNIT_ASSERT(!rig.rules.has("nat", "KUBE-SERVICES"));
  }

  static void is_clean(const IpvsRig& rig) {
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.servers_text() + rig.links_text() + rig.sets.text());
    CPPUNIT_ASSERT(!rig.rules.has("nat", "KUBE-SERVICES"));
  }

  void cleanup_continues_after_unreadable_parts() {
    const sdk::Failure failure(abi::Code::kRetry, "", "broken by the test", 105);
    for (const std::string part : {"servers", "links", "node"}) {
      for (const bool again : {false, true}) {
        IpvsRig rig;
        ok(rig, rig.full(services()));
        if (again) rig.restart();
        if (part == "servers") rig.servers.dumps_left = 0;
        if (part == "node") rig.addresses_unread = true;
        rig.links.before = [&, broken = part == "links"](const std::string&) mutable {
          if (std::exchange(broken, false)) throw failure;
        };
        CPPUNIT_ASSERT_MESSAGE(part, rig.cleanup() == abi::Code::kRetry);
        rig.links.before = nullptr;
        rig.addresses_unread = false;
        CPPUNIT_ASSERT_EQUAL_MESSAGE(part, std::string(), rig.links_text());
        CPPUNIT_ASSERT_MESSAGE(part, !rig.rules.has("nat", "KUBE-SERVICES"));
        CPPUNIT_ASSERT_MESSAGE(part, part == "servers" || !has(rig.servers_text(), "172.30.0.1:80"));
        // The sets that identify our objects have stayed.
        rig.restart();
        ok(rig, rig.cleanup());
        is_clean(rig);
      }
    }
  }

  void cleanup_without_sets_identifies_servers_by_the_link() {
    IpvsRig rig;
    ok(rig, rig.full(services()));
    put_server(rig, rig.key("203.0.113.9", 80));
    rig.restart();
    rig.sets.fail_call = "header";
    CPPUNIT_ASSERT(rig.cleanup() == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(std::string("192.168.0.2:30001/TCP rr 10.0.0.1:8080*1 10.0.0.2:8080*1\n"
                                     "203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n"),
                         rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.links_text());
    CPPUNIT_ASSERT(!rig.rules.has("nat", "KUBE-SERVICES"));
    ok(rig, rig.cleanup());
    CPPUNIT_ASSERT_EQUAL(std::string("203.0.113.9:80/TCP rr 10.77.0.1:8080*1\n"), rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.sets.text());
  }

  void claims_name_everything() {
    IpvsRig rig;
    const std::vector<std::string> claims = rig.claims();
    const auto claimed = [&](const std::string& what) {
      return std::find(claims.begin(), claims.end(), what) != claims.end();
    };
    for (const std::string what :
         {"link/kube-ipvs0", "ipvs/virtual-servers", "ipset/KUBE-CLUSTER-IP", "ipset/KUBE-LOAD-BALANCER-SOURCE-CIDR",
          "iptables/nat/KUBE-SERVICES", "iptables/nat/KUBE-IPVS-HANDOVER", "iptables/filter/KUBE-IPVS-OUT-FILTER"}) {
      CPPUNIT_ASSERT_MESSAGE(what, claimed(what));
    }
    IpvsRig six(abi::Family::kIpv6);
    const std::vector<std::string> other = six.claims();
    CPPUNIT_ASSERT(std::find(other.begin(), other.end(), "ipset/KUBE-6-CLUSTER-IP") != other.end());
    CPPUNIT_ASSERT(std::find(other.begin(), other.end(), "ip6tables/nat/KUBE-SERVICES") != other.end());
  }

  // A real server with a connection has just been removed.
  static std::vector<ServiceSpec> begin_drain(IpvsRig& rig) {
    ok(rig, rig.full(services()));
    std::vector<ServiceSpec> fewer = services();
    rig.servers.find(rig.key("172.30.0.3", 80), {address("10.0.0.6"), 8080})->connections = 1;
    fewer[2].endpoints.pop_back();
    ok(rig, rig.delta({fewer[2]}));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1 10.0.0.6:8080*0\n"));
    return fewer;
  }

  void drains_end_while_nothing_can_be_written() {
    IpvsRig rig(kFamily, {{"whenEndpointRemoved", "drain"}, {"drainTimeout", "30s"}});
    begin_drain(rig);
    const auto fail_and_verify = [&] {
      rig.sets.fail_call = "header";
      CPPUNIT_ASSERT(rig.full(services()) == abi::Code::kRetry);
      CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    };
    fail_and_verify();
    CPPUNIT_ASSERT(has(rig.servers_text(), "10.0.0.6:8080*0"));
    rig.host.clock += 31'000'000'000;
    // A part that cannot be read is retried.
    rig.servers.dumps_left = 0;
    fail_and_verify();
    CPPUNIT_ASSERT(has(rig.servers_text(), "10.0.0.6:8080*0"));
    fail_and_verify();
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1\n"));
    // A real server that has its weight back stays.
    ok(rig, rig.full(services()));
    begin_drain(rig);
    rig.servers.find(rig.key("172.30.0.3", 80), {address("10.0.0.6"), 8080})->weight = 1;
    rig.host.clock += 31'000'000'000;
    fail_and_verify();
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1 10.0.0.6:8080*1\n"));
  }

  void drains_end_with_a_full_transaction() {
    IpvsRig rig(kFamily, {{"whenEndpointRemoved", "drain"}, {"drainTimeout", "30s"}});
    const std::vector<ServiceSpec> fewer = begin_drain(rig);
    rig.host.clock += 31'000'000'000;
    ok(rig, rig.full(fewer));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.3:80/TCP rr 10.0.0.5:8080*1\n"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsUpkeepTest);

}  // namespace backend_upkeep_test
}  // namespace sluice::test

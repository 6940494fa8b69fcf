// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend as a whole on a fake kernel: what it writes, in which order, and how many messages.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>
#include <vector>

#include "test/unit/ipvs/backend_rig.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::test {
namespace backend_test {

using Options = std::vector<std::pair<std::string, std::string>>;

class IpvsBackendTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpvsBackendTest);
  CPPUNIT_TEST(the_worked_example);
  CPPUNIT_TEST(a_restart_without_change_writes_nothing);
  CPPUNIT_TEST(one_change_in_ten_thousand_is_a_handful_of_messages);
  CPPUNIT_TEST(a_delta_on_another_generation_needs_a_full_transaction);
  CPPUNIT_TEST(changed_node_facts_need_a_full_transaction);
  CPPUNIT_TEST(node_ports_follow_addresses);
  CPPUNIT_TEST(shared_objects_stay_until_the_last_user);
  CPPUNIT_TEST(exceptions_come_first_and_go_last);
  CPPUNIT_TEST(addresses_come_after_servers_and_go_before);
  CPPUNIT_TEST(rules_of_emptied_sets_are_removed);
  CPPUNIT_TEST(a_rejected_service_port_is_named_and_retried);
  CPPUNIT_TEST(unusable_addresses_do_not_stop_the_rest);
  CPPUNIT_TEST(rejected_entries_and_addresses_do_not_stop_the_rest);
  CPPUNIT_TEST(a_rejected_virtual_server_leaves_no_address_behind);
  CPPUNIT_TEST(an_address_goes_with_its_last_virtual_server);
  CPPUNIT_TEST(conflicts_are_named_and_end);
  CPPUNIT_TEST(a_virtual_server_that_moves_causes_no_conflict);
  CPPUNIT_TEST(a_service_that_gains_a_virtual_server_is_reported_without_a_resync);
  CPPUNIT_TEST(a_service_port_with_an_invalid_name_is_not_programmed);
  CPPUNIT_TEST(warnings_about_the_node_are_events);
  CPPUNIT_TEST(modules_are_requested_again_if_the_kernel_lacks_a_feature);
  CPPUNIT_TEST(prepares_the_node_without_a_sync);
  CPPUNIT_TEST(metrics);
  CPPUNIT_TEST(services_without_local_endpoints_are_counted);
  CPPUNIT_TEST(a_rejected_service_counts_in_no_metric);
  CPPUNIT_TEST(options_are_read);
  CPPUNIT_TEST(ipv6);
  CPPUNIT_TEST_SUITE_END();

  static ServiceSpec example() {
    ServiceSpec service;
    service.node_port = 30001;
    service.external_local = true;
    service.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}};
    return service;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  // BEH 6.9.
  void the_worked_example() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(std::string("172.30.0.41:80/TCP rr 10.180.0.1:80*1 10.180.2.1:80*1\n"
                                     "192.168.0.2:30001/TCP rr 10.180.0.1:80*1\n"),
                         rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.41\n"), rig.links_text());
    const std::string sets = rig.sets.text();
    CPPUNIT_ASSERT_EQUAL(std::size_t{18}, rig.lines(sets));
    for (const std::string line :
         {"KUBE-CLUSTER-IP 172.30.0.41,tcp:80\n", "KUBE-LOOP-BACK 10.180.0.1,tcp:80,10.180.0.1\n",
          "KUBE-NODE-PORT-TCP 30001\n", "KUBE-NODE-PORT-LOCAL-TCP 30001\n", "KUBE-IPVS-IPS 172.30.0.41\n",
          "KUBE-NODE-PORT-IPS 192.168.0.2\n", "KUBE-LOAD-BALANCER\n"}) {
      CPPUNIT_ASSERT_MESSAGE(sets, has(sets, line));
    }
    CPPUNIT_ASSERT(has(rig.rules.text(), "--match-set KUBE-CLUSTER-IP"));
    CPPUNIT_ASSERT(!has(rig.rules.text(), "--match-set KUBE-EXTERNAL-IP dst,dst -j KUBE-MARK-MASQ"));
    CPPUNIT_ASSERT(rig.result.kernel_writes > 0 && rig.result.objects_owned > 10);
    CPPUNIT_ASSERT(rig.host.failed.empty());
    ok(rig.verify());
  }

  void a_restart_without_change_writes_nothing() {
    IpvsRig rig;
    std::vector<ServiceSpec> services = many_services(50, 3);
    services[7] = example();
    services[8].vips = {"1.2.3.4"};
    services[8].source_ranges = {"203.0.113.0/25"};
    ok(rig, rig.full(services));
    const std::string before = rig.kernel_text();
    const std::uint64_t sent = rig.messages();
    rig.restart();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT_EQUAL(sent, rig.messages());
    CPPUNIT_ASSERT(rig.rules.restores.empty());
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel_text());
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    ok(rig.verify());
  }

  void one_change_in_ten_thousand_is_a_handful_of_messages() {
    IpvsRig rig;
    const unsigned count = repetitions(10000);
    std::vector<ServiceSpec> services = many_services(count, 2);
    ok(rig, rig.full(services));
    const std::uint64_t dumps = rig.servers.server_dumps + rig.sets.dumps + rig.sets.reads;
    const std::uint64_t dumps_before = rig.servers.real_dumps;
    const auto looks = rig.links.calls;
    rig.rules.saves = 0;
    services[count / 2].endpoints.pop_back();
    ok(rig, rig.delta({services[count / 2]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.result.kernel_writes);  // weight 0; without connections it is removed
    services[count / 2].endpoints.push_back({"10.99.0.1", 8080, true});
    ok(rig, rig.delta({services[count / 2]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.result.kernel_writes);  // a real server and its hairpin entry
    services[count / 5 * 3].cluster_ip = "172.29.0.1";
    ok(rig, rig.delta({services[count / 5 * 3]}));
    // Adds a server, two real servers, two set entries and an address; removes the same except the real servers.
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{10}, rig.result.kernel_writes);
    ok(rig, rig.delta({}, {services[count / 10 * 7]}));
    CPPUNIT_ASSERT_MESSAGE("removal", rig.result.kernel_writes <= 6);
    CPPUNIT_ASSERT(rig.rules.restores.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.rules.saves);
    CPPUNIT_ASSERT_EQUAL(dumps, rig.servers.server_dumps + rig.sets.dumps + rig.sets.reads);
    CPPUNIT_ASSERT_EQUAL(dumps_before + 1, rig.servers.real_dumps);  // of the server that lost an endpoint
    CPPUNIT_ASSERT(looks.at("addresses") == rig.links.calls.at("addresses"));
    CPPUNIT_ASSERT(looks.at("find") == rig.links.calls.at("find"));
  }

  void a_delta_on_another_generation_needs_a_full_transaction() {
    IpvsRig rig;
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    ok(rig, rig.full({example()}));
    rig.generation += 5;
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void changed_node_facts_need_a_full_transaction() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    rig.node.version = 2;
    ok(rig, rig.delta({example()}));  // no relevant change
    rig.node.detector_cidr = "10.128.0.0/9";
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(has(rig.rules.text(), "10.128.0.0/9"));
    rig.node.local_addresses.push_back("127.0.0.9");
    ok(rig, rig.delta({example()}));
    rig.node.local_addresses.push_back("192.168.1.2");
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
  }

  void node_ports_follow_addresses() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    rig.node.local_addresses = {"192.168.7.7"};
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.7.7:30001/TCP"));
    CPPUNIT_ASSERT_MESSAGE(rig.servers_text(), !has(rig.servers_text(), "192.168.0.2:30001/TCP"));
  }

  void shared_objects_stay_until_the_last_user() {
    IpvsRig rig;
    ServiceSpec one = example();
    ServiceSpec two = example();
    two.name = "svc2";
    two.port = 81;
    two.node_port = 30002;
    ok(rig, rig.full({one, two}));
    ok(rig, rig.delta({}, {one}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.41\n"), rig.links_text());
    CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-LOOP-BACK 10.180.0.1,tcp:80,10.180.0.1\n"));
    CPPUNIT_ASSERT(!has(rig.sets.text(), "KUBE-CLUSTER-IP 172.30.0.41,tcp:80\n"));
    ok(rig, rig.delta({}, {two}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy\n"), rig.links_text());
    CPPUNIT_ASSERT_EQUAL(std::string(), rig.servers_text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{18}, rig.lines(rig.sets.text()));
    CPPUNIT_ASSERT(!has(rig.sets.text(), ","));
  }

  static std::size_t place(const std::vector<std::string>& calls, const std::string& call) {
    const auto at = std::find(calls.begin(), calls.end(), call);
    CPPUNIT_ASSERT_MESSAGE(call, at != calls.end());
    return static_cast<std::size_t>(at - calls.begin());
  }

  void exceptions_come_first_and_go_last() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.vips = {"1.2.3.4"};
    service.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    ok(rig, rig.full({}));
    rig.sets.calls.clear();
    ok(rig, rig.delta({service}));
    for (const auto& [exception, other] : Options{{"KUBE-LOAD-BALANCER-LOCAL", "KUBE-LOAD-BALANCER"},
                                                  {"KUBE-LOAD-BALANCER-SOURCE-CIDR", "KUBE-LOAD-BALANCER-FW"},
                                                  {"KUBE-LOAD-BALANCER-SOURCE-IP", "KUBE-LOAD-BALANCER-FW"},
                                                  {"KUBE-NODE-PORT-LOCAL-TCP", "KUBE-NODE-PORT-TCP"}}) {
      CPPUNIT_ASSERT(place(rig.sets.calls, "add " + exception) < place(rig.sets.calls, "add " + other));
    }
    rig.sets.calls.clear();
    ok(rig, rig.delta({}, {service}));
    for (const auto& [exception, other] : Options{{"KUBE-LOAD-BALANCER-LOCAL", "KUBE-LOAD-BALANCER"},
                                                  {"KUBE-LOAD-BALANCER-SOURCE-CIDR", "KUBE-LOAD-BALANCER-FW"},
                                                  {"KUBE-LOAD-BALANCER-SOURCE-IP", "KUBE-LOAD-BALANCER-FW"},
                                                  {"KUBE-NODE-PORT-LOCAL-TCP", "KUBE-NODE-PORT-TCP"}}) {
      CPPUNIT_ASSERT(place(rig.sets.calls, "remove " + other) < place(rig.sets.calls, "remove " + exception));
    }
  }

  void addresses_come_after_servers_and_go_before() {
    IpvsRig rig;
    ok(rig, rig.full({}));
    const ipvs::ServerKey key = rig.key("172.30.0.41", 80);
    bool bound = false;
    rig.links.before = [&](const std::string& call) {
      if (call == "bind") {
        bound = true;
        CPPUNIT_ASSERT(rig.servers.held.contains(key) && rig.servers.held.at(key).real.size() == 2);
        CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-CLUSTER-IP 172.30.0.41,tcp:80"));
        CPPUNIT_ASSERT(has(rig.rules.text(), "--match-set KUBE-CLUSTER-IP"));
      }
      if (call == "unbind") {
        bound = false;
        CPPUNIT_ASSERT(rig.servers.held.contains(key));
        CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-CLUSTER-IP 172.30.0.41,tcp:80"));
      }
    };
    ok(rig, rig.delta({example()}));
    CPPUNIT_ASSERT(bound);
    ok(rig, rig.delta({}, {example()}));
    CPPUNIT_ASSERT(!bound);
    CPPUNIT_ASSERT(!rig.servers.held.contains(key));
  }

  void rules_of_emptied_sets_are_removed() {
    IpvsRig rig;
    ServiceSpec service = example();
    service.vips = {"1.2.3.4"};
    service.source_ranges = {"203.0.113.0/25"};
    ok(rig, rig.full({}));
    const std::string empty = rig.rules.text();
    ok(rig, rig.delta({service}));
    CPPUNIT_ASSERT(has(rig.rules.text(), "--match-set KUBE-LOAD-BALANCER-FW"));
    CPPUNIT_ASSERT(has(rig.rules.text(), "--vaddr 1.2.3.4"));
    service.source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    ok(rig, rig.delta({service}));
    CPPUNIT_ASSERT(!has(rig.rules.text(), "--vaddr 1.2.3.4"));
    ok(rig, rig.delta({}, {service}));
    CPPUNIT_ASSERT_EQUAL(empty, rig.rules.text());
    CPPUNIT_ASSERT(rig.result.kernel_writes > 0);
  }

  void a_rejected_service_port_is_named_and_retried() {
    IpvsRig rig;
    std::vector<ServiceSpec> services = many_services(3, 1);
    bool refusing = true;
    rig.servers.refuse = [&](const ipvs::ServerCommand& command) {
      return refusing && command.server.key.address == rig.key("172.30.0.2", 80).address ? EINVAL : 0;
    };
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], rig.host.failed[0].starts_with("bench/svc-1:p80: "));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.not_programmed());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.servers.held.size());
    refusing = false;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.servers.held.size());
    CPPUNIT_ASSERT(rig.host.failed.empty());
  }

  void unusable_addresses_do_not_stop_the_rest() {
    IpvsRig rig;
    const std::vector<ServiceSpec> good = many_services(3, 1);
    std::vector<ServiceSpec> services = good;
    services[0].external_ips = {"0.0.0.0"};
    services[1].vips = {"224.0.0.1", "127.0.0.1"};
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.failed.size());
    CPPUNIT_ASSERT(has(rig.host.failed[0], "bench/svc-0:p80: external IP 0.0.0.0 is the unspecified address"));
    CPPUNIT_ASSERT(has(rig.host.failed[1], "bench/svc-1:p80: load balancer IP 224.0.0.1 is a multicast address"));
    CPPUNIT_ASSERT(has(rig.host.failed[1], "; load balancer IP 127.0.0.1 is a loopback address"));
    ok(rig.verify());
    IpvsRig same;
    ok(same, same.full(good));
    CPPUNIT_ASSERT_EQUAL(same.kernel_text(), rig.kernel_text());
    ok(rig, rig.delta({good[0]}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
  }

  void rejected_entries_and_addresses_do_not_stop_the_rest() {
    IpvsRig rig;
    std::vector<ServiceSpec> services = many_services(3, 1);
    rig.sets.refuse = {"172.30.0.1,tcp:80"};
    rig.links.refuse = {*sdk::parse_address("172.30.0.2", abi::Family::kIpv4)};
    ok(rig, rig.full(services));
    const std::vector<std::string> failed{
        "bench/svc-0:p80: cannot add 172.30.0.1,tcp:80 to set KUBE-CLUSTER-IP: refused",
        "bench/svc-1:p80: cannot bind 172.30.0.2 to kube-ipvs0: refused"};
    CPPUNIT_ASSERT(failed == rig.host.failed);
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.servers.held.size());
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1 172.30.0.3\n"), rig.links_text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.sets.held(ipvs::SetId::kClusterIp).size());
    ok(rig.verify());
    // A foreign change does not report it again, a change of the Service does.
    ok(rig, rig.delta({services[2]}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    services[1].endpoints.clear();
    ok(rig, rig.delta({services[1]}));
    CPPUNIT_ASSERT(std::vector<std::string>{failed[1]} == rig.host.failed);
    rig.sets.refuse.clear();
    rig.links.refuse.clear();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.1 172.30.0.2 172.30.0.3\n"), rig.links_text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.sets.held(ipvs::SetId::kClusterIp).size());
    // A rejected service port is removed without a trace.
    rig.links.refuse = {*sdk::parse_address("172.30.0.9", abi::Family::kIpv4)};
    services[1].external_ips = {"172.30.0.9"};
    ok(rig, rig.delta({services[1]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    services[1].external_ips.clear();
    ok(rig, rig.delta({services[1]}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    ok(rig.verify());
  }

  // Otherwise programs that listen on all addresses would answer for the Service.
  void a_rejected_virtual_server_leaves_no_address_behind() {
    for (const bool by_delta : {false, true}) {
      IpvsRig rig;
      std::vector<ServiceSpec> services = many_services(3, 1);
      services[1].vips = {"1.2.3.4"};
      services[1].source_ranges = {"203.0.113.0/25"};
      services[1].node_port = 30001;
      IpvsRig fresh;
      ok(fresh, fresh.full(services));
      bool refusing = true;
      rig.servers.refuse = [&](const ipvs::ServerCommand& command) {
        const auto owner = rig.key("172.30.0.2", 80).address;
        const bool its = command.server.key.address == owner || command.server.key.port == 30001 ||
                         command.server.key == rig.key("1.2.3.4", 80);
        return refusing && its ? EAFNOSUPPORT : 0;
      };
      const auto apply = [&] {
        ok(rig, by_delta ? rig.delta({services[1]}) : rig.full(services));
        return rig.sets.messages() + rig.links.messages() + rig.rules.restores.size();
      };
      ok(rig, rig.full({services[0], services[2]}));
      const std::string before = rig.kernel_text();
      apply();
      // Hairpin entries are of endpoints.
      for (const std::string part : {"172.30.0.2", "1.2.3.4", "30001"}) {
        CPPUNIT_ASSERT_MESSAGE(rig.kernel_text(), !has(rig.kernel_text(), part));
      }
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
      const std::uint64_t sent = rig.sets.messages() + rig.links.messages();
      CPPUNIT_ASSERT_EQUAL(sent, apply());
      refusing = false;
      apply();
      CPPUNIT_ASSERT(rig.host.failed.empty());
      CPPUNIT_ASSERT_EQUAL(fresh.kernel_text(), rig.kernel_text());
      ok(rig, rig.verify());
      ok(rig, rig.delta({}, {services[1]}));
      CPPUNIT_ASSERT_EQUAL(before, rig.kernel_text());
    }
  }

  void an_address_goes_with_its_last_virtual_server() {
    IpvsRig rig;
    ServiceSpec served = example();
    served.node_port = 0;
    served.external_local = false;
    ServiceSpec refused = served;
    refused.name = "svc2";
    refused.port = 81;
    rig.servers.refuse = [](const ipvs::ServerCommand& command) { return command.server.key.port == 81 ? EINVAL : 0; };
    ok(rig, rig.full({refused}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy\n"), rig.links_text());
    ok(rig, rig.delta({served}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.41\n"), rig.links_text());
    CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-IPVS-IPS 172.30.0.41\n"));
    CPPUNIT_ASSERT(!has(rig.sets.text(), "172.30.0.41,tcp:81"));
    ok(rig, rig.delta({}, {served}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy\n"), rig.links_text());
    ok(rig, rig.full({refused, served}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.41\n"), rig.links_text());
    rig.servers.refuse = nullptr;
    ok(rig, rig.delta({refused}, {served}));
    CPPUNIT_ASSERT_EQUAL(std::string("kube-ipvs0 dummy 172.30.0.41\n"), rig.links_text());
    CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-CLUSTER-IP 172.30.0.41,tcp:81\n"));
    CPPUNIT_ASSERT(!has(rig.sets.text(), "172.30.0.41,tcp:80\n"));
  }

  void conflicts_are_named_and_end() {
    IpvsRig rig;
    ServiceSpec one = example();
    ServiceSpec two = example();
    two.name = "svc2";
    two.node_port = 30002;
    ok(rig, rig.full({one, two}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc2:p80: 172.30.0.41:80/TCP belongs to Service port ns1/svc1:p80; give one "
                                     "of them another port or address"),
                         rig.host.failed[0]);
    CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.0.2:30002/TCP"));
    one.cluster_ip = "172.30.0.77";
    ok(rig, rig.delta({one}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.41:80/TCP rr 10.180.0.1"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
  }

  void a_virtual_server_that_moves_causes_no_conflict() {
    for (const bool loser_is_first : {true, false}) {
      IpvsRig rig;
      std::vector<ServiceSpec> both = many_services(2, 2);
      const std::size_t from = loser_is_first ? 0 : 1;
      both[from].external_ips = {"192.168.99.11"};
      ok(rig, rig.full(both));
      both[0].external_ips.swap(both[1].external_ips);
      ok(rig, rig.delta(both));
      CPPUNIT_ASSERT_MESSAGE(rig.host.failed.empty() ? "" : rig.host.failed[0], rig.host.failed.empty());
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig.host.not_programmed());
      CPPUNIT_ASSERT(rig.host.resyncs.empty());
      IpvsRig fresh;
      ok(fresh, fresh.full(both));
      CPPUNIT_ASSERT_EQUAL(fresh.servers_text(), rig.servers_text());
    }
  }

  void a_service_that_gains_a_virtual_server_is_reported_without_a_resync() {
    IpvsRig rig;
    std::vector<ServiceSpec> both = many_services(2, 2);
    for (ServiceSpec& one : both) one.external_ips = {"192.168.99.11"};
    ok(rig, rig.full(both));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    both[0].external_ips.clear();
    ok(rig, rig.delta({both[1], both[0]}));
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    CPPUNIT_ASSERT(has(rig.servers_text(), "192.168.99.11"));
  }

  void a_service_port_with_an_invalid_name_is_not_programmed() {
    IpvsRig rig;
    ServiceSpec odd = example();
    odd.name = "a b";
    odd.cluster_ip = "172.30.0.77";
    odd.node_port = 0;
    ok(rig, rig.full({example(), odd}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT(!has(rig.servers_text(), "172.30.0.77"));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.41"));
  }

  void warnings_about_the_node_are_events() {
    IpvsRig rig;
    rig.node_warnings = {"set net.ipv4.vs.conntrack to 1: read-only; replies are not masqueraded"};
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(has(rig.logged(abi::Severity::kWarning), "net.ipv4.vs.conntrack"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.events.size());
    ok(rig, rig.delta({example()}));
    CPPUNIT_ASSERT_EQUAL(1u, rig.prepared);
  }

  void modules_are_requested_again_if_the_kernel_lacks_a_feature() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(0u, rig.prepared_lacking);
    for (const auto& [code, lacking] : {std::pair(abi::Code::kRetry, 0u), std::pair(abi::Code::kUnsupported, 1u)}) {
      rig.sets.fail_call = "header";
      rig.sets.failure = sdk::Failure(code, "KUBE-CLUSTER-IP", "refused by the test");
      CPPUNIT_ASSERT(rig.full({example()}) == code);
      ok(rig, rig.full({example()}));
      ok(rig, rig.full({example()}));
      CPPUNIT_ASSERT_EQUAL(lacking, rig.prepared_lacking);
    }
  }

  void prepares_the_node_without_a_sync() {
    IpvsRig rig;
    rig.node_warnings = {"set net.ipv4.vs.conntrack to 1: read-only; replies are not masqueraded"};
    const std::string before = rig.kernel_text();
    CPPUNIT_ASSERT(rig.prepare() == abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(1u, rig.prepared);
    CPPUNIT_ASSERT(has(rig.logged(abi::Severity::kWarning), "net.ipv4.vs.conntrack"));
    CPPUNIT_ASSERT_EQUAL(before, rig.kernel_text());
  }

  void metrics() {
    IpvsRig rig;
    ok(rig, rig.full({example()}));
    const auto& metrics = rig.host.metrics;
    CPPUNIT_ASSERT_EQUAL(2.0, metrics.at("sluice_ipvs_virtual_servers{ip_family=\"IPv4\"}"));
    CPPUNIT_ASSERT_EQUAL(3.0, metrics.at("sluice_ipvs_real_servers{ip_family=\"IPv4\"}"));
    CPPUNIT_ASSERT_EQUAL(0.0, metrics.at("sluice_ipvs_draining_real_servers{ip_family=\"IPv4\"}"));
    CPPUNIT_ASSERT_EQUAL(6.0, metrics.at("sluice_ipvs_set_entries{ip_family=\"IPv4\"}"));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.at("sluice_ipvs_addresses{ip_family=\"IPv4\"}"));
    double sum = 0;
    for (const std::string part : {"servers", "sets", "links"}) {
      sum += metrics.at("sluice_ipvs_messages_total{part=\"" + part + "\",ip_family=\"IPv4\"}");
    }
    CPPUNIT_ASSERT_EQUAL(static_cast<double>(rig.messages()), sum);
    CPPUNIT_ASSERT(rig.result.kernel_nanoseconds > 0);
    // A real server with connections drains.
    rig.servers.find(rig.key("172.30.0.41", 80), {*sdk::parse_address("10.180.2.1", abi::Family::kIpv4), 80})
        ->connections = 1;
    ServiceSpec fewer = example();
    fewer.endpoints.pop_back();
    ok(rig, rig.delta({fewer}));
    CPPUNIT_ASSERT_EQUAL(1.0, metrics.at("sluice_ipvs_draining_real_servers{ip_family=\"IPv4\"}"));
    rig.servers.find(rig.key("172.30.0.41", 80), {*sdk::parse_address("10.180.2.1", abi::Family::kIpv4), 80})
        ->connections = 0;
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(0.0, metrics.at("sluice_ipvs_draining_real_servers{ip_family=\"IPv4\"}"));
    rig.rules.fail_next = 4;
    fewer.vips = {"1.2.3.4"};
    CPPUNIT_ASSERT(rig.delta({fewer}) != abi::Code::kOk);
    CPPUNIT_ASSERT_EQUAL(1.0,
                         metrics.at("kubeproxy_sync_proxy_rules_iptables_restore_failures_total{ip_family=\"IPv4\"}"));
  }

  void services_without_local_endpoints_are_counted() {
    IpvsRig rig;
    std::vector<ServiceSpec> services;
    for (const std::string port : {"p80", "p443"}) {
      ServiceSpec one = example();
      one.port_name = port;
      one.port = port == "p80" ? 80 : 443;
      one.node_port = port == "p80" ? 30001 : 30002;
      one.endpoints = {{"10.180.2.1", 80, false}};
      services.push_back(one);
    }
    services[1].internal_local = true;
    const auto count = [&](const std::string& policy) {
      return rig.host.metrics.at("kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy=\"" + policy +
                                   "\",ip_family=\"IPv4\"}");
    };
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(1.0, count("external"));  // two ports of one Service
    CPPUNIT_ASSERT_EQUAL(1.0, count("internal"));
    services[1].endpoints.push_back({"10.180.0.1", 80, true});
    ok(rig, rig.delta({services[1]}));
    CPPUNIT_ASSERT_EQUAL(1.0, count("external"));
    CPPUNIT_ASSERT_EQUAL(0.0, count("internal"));
    ok(rig, rig.delta({}, {services[0]}));
    CPPUNIT_ASSERT_EQUAL(0.0, count("external"));
  }

  void a_rejected_service_counts_in_no_metric() {
    IpvsRig rig;
    ServiceSpec one = example();
    one.internal_local = true;
    one.endpoints = {{"10.180.2.1", 80, false}};
    const auto counts = [&] {
      std::string text;
      for (const std::string policy : {"external", "internal"}) {
        text += std::to_string(rig.host.metrics.at("kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy=\"" +
                                                     policy + "\",ip_family=\"IPv4\"}"));
      }
      return text;
    };
    std::string refused = "172.30.0.41 and 192.168.0.2";
    rig.servers.refuse = [&](const ipvs::ServerCommand& command) {
      if (command.kind != ipvs::ServerCommandKind::kAddServer) return 0;
      return has(refused, sdk::to_string(command.server.key.address, abi::Family::kIpv4)) ? EINVAL : 0;
    };
    ok(rig, rig.full({one}));
    CPPUNIT_ASSERT_EQUAL(std::string("0.0000000.000000"), counts());
    refused = "172.30.0.41";  // the node port is served
    ok(rig, rig.full({one}));
    CPPUNIT_ASSERT_EQUAL(std::string("1.0000001.000000"), counts());
    refused = "172.30.0.42 and 192.168.0.2";
    one.cluster_ip = "172.30.0.42";
    one.node_port = 30002;
    ok(rig, rig.delta({one}));
    CPPUNIT_ASSERT_EQUAL(std::string("0.0000000.000000"), counts());
    refused = "";
    ok(rig, rig.delta({one}));
    CPPUNIT_ASSERT_EQUAL(std::string("1.0000001.000000"), counts());
  }

  void options_are_read() {
    IpvsRig rig(abi::Family::kIpv4, {{"ipvs.scheduler", "wlc"}});
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.41:80/TCP wlc "));
    rig.restart_with({{"ipvs.scheduler", "lc"}});
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(has(rig.servers_text(), "172.30.0.41:80/TCP lc "));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.result.kernel_writes);  // edited in place
  }

  void ipv6() {
    IpvsRig rig(abi::Family::kIpv6);
    std::vector<ServiceSpec> services = many_services(3, 2, abi::Family::kIpv6);
    services[0].node_port = 30001;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(has(rig.servers_text(), "[fd00:9::2]:30001/TCP rr "));
    CPPUNIT_ASSERT(!has(rig.servers_text(), "fe80"));
    CPPUNIT_ASSERT(has(rig.sets.text(), "KUBE-6-CLUSTER-IP fd00:1::1,tcp:80\n"));
    rig.restart();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsBackendTest);

}  // namespace backend_test
}  // namespace sluice::test

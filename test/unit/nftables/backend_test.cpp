// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The whole backend on a fake table: what it writes, and that it writes no more than needed.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace backend_test {

using nftables::SetId;
using Names = std::vector<std::string>;

class NftablesBackendTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesBackendTest);
  CPPUNIT_TEST(a_first_sync_makes_the_whole_table);
  CPPUNIT_TEST(a_restart_without_change_writes_nothing);
  CPPUNIT_TEST(read_ahead_is_used_while_valid);
  CPPUNIT_TEST(transient_error_keeps_service_ports);
  CPPUNIT_TEST(all_ports_of_a_service_are_loaded_together);
  CPPUNIT_TEST(one_change_in_ten_thousand_is_a_handful_of_elements);
  CPPUNIT_TEST(a_delta_that_does_not_fit_takes_a_full_one);
  CPPUNIT_TEST(facts_of_the_node_take_a_full_one_but_addresses);
  CPPUNIT_TEST(loopback_addresses_are_ignored);
  CPPUNIT_TEST(deltas_come_to_what_a_full_one_makes);
  CPPUNIT_TEST(conflicts_are_named_and_end);
  CPPUNIT_TEST(metrics_are_reported);
  CPPUNIT_TEST(services_without_local_endpoints_are_counted);
  CPPUNIT_TEST(claims_and_retirement);
  CPPUNIT_TEST(cleanup);
  CPPUNIT_TEST(ipv6);
  CPPUNIT_TEST_SUITE_END();

  static ServiceSpec example() {
    ServiceSpec service;
    service.node_port = 30001;
    service.external_local = true;
    service.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}};
    return service;
  }

  void a_first_sync_makes_the_whole_table() {
    NftablesRig rig;
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
    CPPUNIT_ASSERT(Names{"172.30.0.41:80/tcp"} == rig.table.frontends(SetId::kServiceIps));
    CPPUNIT_ASSERT(Names{":30001/tcp"} == rig.table.frontends(SetId::kServiceNodePorts));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("endpoints-2"));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("nat-prerouting"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.state.elements[SetId::kClusterIps].size());
    CPPUNIT_ASSERT_EQUAL(rig.table.statistics.writes, rig.result.kernel_writes);
    CPPUNIT_ASSERT(rig.result.objects_owned > 5 && rig.host.failed.empty());
    ok(rig.verify());
  }

  void read_ahead_is_used_while_valid() {
    NftablesRig rig;
    ok(rig, rig.full({example()}));
    const std::string before = rig.table.text();
    rig.restart();
    ok(rig.probe());
    const auto wait = [&] { CPPUNIT_ASSERT(abi::Code::kNeedFull == rig.delta({example()})); };
    wait();
    const std::uint64_t read = rig.table.statistics.listings;
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT_EQUAL(read, rig.table.statistics.listings);
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("it is used once", read + 1, rig.table.statistics.listings);

    rig.restart();
    ok(rig.probe());
    wait();
    rig.table.state.elements.clear();
    ++rig.table.foreign_commits;
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(rig.result.kernel_writes > 0);
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());

    rig.restart();
    unsigned lists = 0;
    rig.table.before_list = [&] {
      if (++lists == 1) throw sdk::Failure(abi::Code::kRetry, {}, "it changed all the time", 0);
    };
    ok(rig.probe());
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(2U, lists);
  }

  void transient_error_keeps_service_ports() {
    NftablesRig rig;
    ok(rig, rig.full({example()}));
    const std::string before = rig.table.text();
    ServiceSpec changed = example();
    changed.endpoints.back() = {"10.180.3.1", 80, false};
    rig.table.refuse = [](const nftables::ElementWrite&) { return ENOMEM; };
    CPPUNIT_ASSERT(abi::Code::kRetry == rig.delta({changed}));
    CPPUNIT_ASSERT(abi::Code::kRetry == rig.full({changed}));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    CPPUNIT_ASSERT(rig.host.failed.empty());
    rig.table.refuse = {};
    ok(rig, rig.full({changed}));
    CPPUNIT_ASSERT(before != rig.table.text());
  }

  void all_ports_of_a_service_are_loaded_together() {
    nftables::WriteOrder write_order;
    nftables::ServicePlan resolver;
    resolver.frontends.emplace_back();
    resolver.frontends.back().key.port = 53;
    const nftables::PortId first{"a/a:x", abi::Protocol::kTcp}, dns{"ns/names:dns", abi::Protocol::kUdp},
        metrics_port{"ns/names:metrics", abi::Protocol::kTcp};
    write_order.put(dns, resolver);
    write_order.put(metrics_port, nftables::ServicePlan());
    CPPUNIT_ASSERT(
        (std::vector<nftables::PortId>{dns, metrics_port, first} == write_order.in_order({first, dns, metrics_port})));
  }

  void a_restart_without_change_writes_nothing() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(50, 3);
    services[7] = example();
    services[8].vips = {"1.2.3.4"};
    services[8].source_ranges = {"203.0.113.0/25"};
    services[9].affinity_seconds = 10800;
    services[10].endpoints.clear();
    ok(rig, rig.full(services));
    std::reverse(services[20].endpoints.begin(), services[20].endpoints.end());
    services[21].endpoints.erase(services[21].endpoints.begin());
    services[9].endpoints.erase(services[9].endpoints.begin());
    ok(rig, rig.delta({services[20], services[21], services[9]}));
    rig.pass(2);
    ok(rig.verify());
    const std::string before = rig.table.text();
    for (const bool again : {false, true}) {
      if (!again) rig.restart();
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
      CPPUNIT_ASSERT(rig.table.batches.empty());
      CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
      ok(rig.verify());
    }
  }

  void one_change_in_ten_thousand_is_a_handful_of_elements() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(10000, 2);
    ok(rig, rig.full(services));
    const std::uint64_t listings = rig.table.statistics.listings;
    CPPUNIT_ASSERT(rig.table.batches.size() > 1);
    services[5000].endpoints[1].address = "10.99.0.1";
    ok(rig, rig.delta({services[5000]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{2}, rig.result.kernel_writes);  // one slot, removed and added
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
    services[5000].endpoints[0].local = false;
    ok(rig, rig.delta({services[5000]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{1}, rig.result.kernel_writes);  // its hairpin
    ok(rig, rig.delta({services[5000]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    ok(rig, rig.delta({}, {services[7000]}));
    CPPUNIT_ASSERT_MESSAGE("removal", rig.result.kernel_writes <= 6);
    CPPUNIT_ASSERT_EQUAL(listings, rig.table.statistics.listings);
  }

  void a_delta_that_does_not_fit_takes_a_full_one() {
    NftablesRig rig;
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    ok(rig, rig.full({example()}));
    rig.generation += 5;
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void facts_of_the_node_take_a_full_one_but_addresses() {
    NftablesRig rig;
    rig.node.flags = 0;
    rig.node.node_port_addresses = {"192.168.0.2"};
    ok(rig, rig.full({example()}));
    rig.node.version = 2;
    rig.node.local_addresses = {"192.168.7.7"};
    ok(rig, rig.delta({example()}));  // no relevant change
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    rig.node.node_port_addresses = {"192.168.0.3", "192.168.0.4"};
    ok(rig, rig.delta({}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{3}, rig.result.kernel_writes);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.table.state.elements[SetId::kNodePortIps].size());
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    rig.node.detector_cidr = "10.128.0.0/9";
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
    const std::string before = rig.table.text();
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(before != rig.table.text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
    CPPUNIT_ASSERT(!rig.table.batches[0].delete_table && rig.table.batches[0].elements.empty());
    rig.node.ip = "192.168.0.9";
    CPPUNIT_ASSERT(rig.delta({example()}) == abi::Code::kNeedFull);
  }

  void loopback_addresses_are_ignored() {
    NftablesRig rig;
    rig.node.flags = 0;
    rig.node.node_port_addresses = {"127.0.0.1", "192.168.0.2"};
    ok(rig, rig.full({example()}));
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.state.elements[SetId::kNodePortIps].size());
    CPPUNIT_ASSERT(rig.logged(abi::Severity::kError, "loopback address 127.0.0.1"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.lines.size());
  }

  void deltas_come_to_what_a_full_one_makes() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(20, 2);
    ok(rig, rig.full(services));
    services[3].vips = {"1.2.3.4"};
    services[3].source_ranges = {"203.0.113.0/25", "192.168.0.0/24"};
    services[4].affinity_seconds = 60;
    services[5].endpoints.clear();
    services[6].endpoints.push_back({"10.99.0.1", 8080, true});
    const ServiceSpec gone[] = {services[7], services[8]};
    services.erase(services.begin() + 8);
    services[7] = example();
    ok(rig, rig.delta({services[3], services[4], services[5], services[6], services[7]}, {gone[0], gone[1]}));
    NftablesRig fresh;
    ok(fresh, fresh.full(services));
    // Numbers depend on the history; frontends do not, and a comparison finds no difference.
    for (const SetId set : {SetId::kServiceIps, SetId::kServiceNodePorts, SetId::kNoEndpointServices, SetId::kEndpoints,
                            SetId::kFirewallIps, SetId::kAffinityServices}) {
      CPPUNIT_ASSERT(fresh.table.frontends(set) == rig.table.frontends(set));
    }
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(fresh.table.state.chains.size(), rig.table.state.chains.size());
    rig.restart();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void conflicts_are_named_and_end() {
    NftablesRig rig;
    ServiceSpec one = example();
    ServiceSpec two = example();
    two.name = "svc2";
    two.node_port = 30002;
    ok(rig, rig.full({one, two}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_EQUAL(std::string("ns1/svc2:p80: 172.30.0.41:80/tcp belongs to Service port ns1/svc1:p80; give one "
                                     "of them another port or address"),
                         rig.host.failed[0]);
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.table.frontends(SetId::kServiceNodePorts).size());
    one.cluster_ip = "172.30.0.77";
    ok(rig, rig.delta({one}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    ok(rig, rig.full({one, two}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT(rig.host.failed.empty());
  }

  void metrics_are_reported() {
    NftablesRig rig;
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT(rig.metric("sluice_nftables_elements") > 5);
    CPPUNIT_ASSERT(rig.metric("sluice_nftables_chains") >= 2);
    CPPUNIT_ASSERT_EQUAL(1.0, rig.metric("sluice_nftables_transactions_total", "result=\"carried_out\","));
    CPPUNIT_ASSERT_EQUAL(1.0, rig.metric("sluice_nftables_listings_total"));
    CPPUNIT_ASSERT_EQUAL(0.0, rig.metric("kubeproxy_sync_proxy_rules_nftables_sync_failures_total"));
    CPPUNIT_ASSERT_EQUAL(0.0, rig.metric("kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total"));
    CPPUNIT_ASSERT(rig.result.kernel_nanoseconds > 0);
    rig.host.metrics.clear();
    ServiceSpec other = example();
    other.endpoints.back().address = "10.180.9.9";
    ok(rig, rig.delta({other}));
    CPPUNIT_ASSERT_EQUAL(1.0, rig.metric("sluice_nftables_transactions_total", "result=\"carried_out\","));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("not reported: as before", -1.0, rig.metric("sluice_nftables_elements"));
    CPPUNIT_ASSERT_EQUAL_MESSAGE("not reported: none", -1.0, rig.metric("sluice_nftables_listings_total"));
    rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "table", "lost");
    other.endpoints.pop_back();
    CPPUNIT_ASSERT(rig.delta({other}) == abi::Code::kRetry);
    CPPUNIT_ASSERT_EQUAL(1.0, rig.metric("kubeproxy_sync_proxy_rules_nftables_sync_failures_total"));
  }

  void services_without_local_endpoints_are_counted() {
    NftablesRig rig;
    ServiceSpec one = example();
    one.endpoints = {{"10.180.2.1", 80, false}};
    one.internal_local = true;
    ok(rig, rig.full({one}));
    const auto count = [&](const std::string& policy) {
      return rig.metric("kubeproxy_sync_proxy_rules_no_local_endpoints_total", "traffic_policy=\"" + policy + "\",");
    };
    CPPUNIT_ASSERT_EQUAL(1.0, count("external"));
    CPPUNIT_ASSERT_EQUAL(1.0, count("internal"));
    one.endpoints.push_back({"10.180.0.1", 80, true});
    ok(rig, rig.delta({one}));
    CPPUNIT_ASSERT_EQUAL(0.0, count("external"));
    one.endpoints.clear();  // no endpoints at all
    ok(rig, rig.delta({one}));
    CPPUNIT_ASSERT_EQUAL(0.0, count("internal"));
  }

  void claims_and_retirement() {
    NftablesRig rig;
    CPPUNIT_ASSERT(Names{"nft/ip/kube-proxy"} == rig.claims());
    CPPUNIT_ASSERT(Names{"nft/ip6/kube-proxy"} == NftablesRig(abi::Family::kIpv6).claims());
    ok(rig, rig.full({example()}));
    ok(rig.retire({"iptables/nat/KUBE-SERVICES", "nft/ip/kube-proxy"}));
    CPPUNIT_ASSERT(rig.table.state.exists);
    ok(rig.retire({"iptables/nat/KUBE-SERVICES", "nft/ip6/kube-proxy"}));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void cleanup() {
    NftablesRig rig;
    ok(rig.cleanup());
    ok(rig, rig.full({example()}));
    rig.restart();
    rig.table.fail_next = sdk::Failure(abi::Code::kDenied, "table", "denied");
    CPPUNIT_ASSERT(rig.cleanup() == abi::Code::kDenied);
    CPPUNIT_ASSERT_EQUAL(1.0, rig.metric("kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total"));
    rig.table.fail_next = sdk::Failure(abi::Code::kUnsupported, "table", "no nf_tables");
    ok(rig.cleanup());
    ok(rig.cleanup());
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void ipv6() {
    NftablesRig rig(abi::Family::kIpv6);
    std::vector<ServiceSpec> services = many_services(3, 2, abi::Family::kIpv6);
    services[0].node_port = 30001;
    ok(rig, rig.full(services));
    const Names frontends = rig.table.frontends(SetId::kServiceIps);
    CPPUNIT_ASSERT_EQUAL(std::string("[fd00:1::1]:80/tcp"), frontends.at(0));
    rig.restart();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesBackendTest);

}  // namespace backend_test
}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How the table is written: order, chunks, and nothing that exists already.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"
#include "test/unit/repetitions.hpp"

namespace sluice::test {
namespace writer_test {

using nftables::SetId;

class NftablesWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesWriterTest);
  CPPUNIT_TEST(dns_and_the_api_server_are_written_first);
  CPPUNIT_TEST(no_service_port_is_divided);
  CPPUNIT_TEST(unallocated_cluster_ips_are_dropped_last);
  CPPUNIT_TEST(interrupted_load_drops_unallocated_cluster_ips_last);
  CPPUNIT_TEST(small_table_is_written_once);
  CPPUNIT_TEST(unwanted_elements_are_removed_last);
  CPPUNIT_TEST(drift_of_every_kind_is_repaired_and_nothing_else);
  CPPUNIT_TEST(a_table_of_another_shape_is_replaced_at_once);
  CPPUNIT_TEST(a_huge_change_is_divided);
  CPPUNIT_TEST_SUITE_END();

  void dns_and_the_api_server_are_written_first() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    std::vector<ServiceSpec> services = many_services(900, 2);
    services[800].port = 53;
    services[850].namespace_name = "default";
    services[850].name = "kubernetes";
    services[899].namespace_name = "zz";
    services[899].name = "coredns";
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.table.batches.size() >= 2);
    std::vector<std::string> owners = rig.table.batches[0].owners;
    owners.resize(5);
    const std::vector<std::string> wanted{"", "bench/svc-800:p80", "zz/coredns:p80", "default/kubernetes:p80",
                                          "bench/svc-0:p80"};
    CPPUNIT_ASSERT(wanted == owners);
  }

  void no_service_port_is_divided() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    ok(rig, rig.full(many_services(900, 5)));
    CPPUNIT_ASSERT(rig.table.batches.size() >= 3);
    std::set<std::string> owners;
    for (const nftables::Batch& batch : rig.table.batches) {
      CPPUNIT_ASSERT(batch.elements.size() < 2100);
      for (const std::string& owner : batch.owners) CPPUNIT_ASSERT(owner.empty() || owners.insert(owner).second);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{900}, owners.size());
    CPPUNIT_ASSERT(rig.table.batches[0].create_table && !rig.table.batches[0].chains.empty());
    for (std::size_t i = 1; i < rig.table.batches.size(); ++i) CPPUNIT_ASSERT(rig.table.batches[i].chains.empty());
  }

  // For each transaction: how many rules it writes to the chain that rejects or drops; -1 if it does not write the chain.
  static std::vector<int> rules_of_check(const NftablesRig& rig) {
    std::vector<int> found;
    for (const nftables::Batch& batch : rig.table.batches) {
      found.push_back(-1);
      for (const nftables::ChainWrite& chain : batch.chains) {
        if (chain.spec.name == nftables::kClusterIpsCheck) found.back() = static_cast<int>(chain.spec.rules.size());
      }
    }
    return found;
  }

  // A Service that is not yet written would be dropped as an unallocated cluster IP.
  void unallocated_cluster_ips_are_dropped_last() {
    NftablesRig rig;
    rig.node.service_cidrs = {"172.30.0.0/16"};
    rig.write_in_small_chunks();
    ok(rig, rig.full(many_services(900, 5)));
    std::vector<int> rules = rules_of_check(rig);
    CPPUNIT_ASSERT(rules.size() >= 3);
    CPPUNIT_ASSERT_EQUAL(1, rules.front());
    CPPUNIT_ASSERT_EQUAL(2, rules.back());
    for (std::size_t i = 1; i + 1 < rules.size(); ++i) CPPUNIT_ASSERT_EQUAL(-1, rules[i]);
    rig.restart();
    ok(rig, rig.full(many_services(900, 5)));
    CPPUNIT_ASSERT(rig.table.batches.empty());
  }

  void interrupted_load_drops_unallocated_cluster_ips_last() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    ok(rig, rig.full(many_services(400, 5)));
    rig.node.service_cidrs = {"172.30.0.0/16"};
    rig.restart();
    ok(rig, rig.full(many_services(900, 5)));
    const std::vector<int> rules = rules_of_check(rig);
    CPPUNIT_ASSERT(rules.size() >= 2);
    for (std::size_t i = 0; i < rules.size(); ++i) CPPUNIT_ASSERT_EQUAL(i + 1 == rules.size() ? 2 : -1, rules[i]);
  }

  void small_table_is_written_once() {
    NftablesRig rig;
    rig.node.service_cidrs = {"172.30.0.0/16"};
    ok(rig, rig.full(many_services(3, 2)));
    CPPUNIT_ASSERT(std::vector<int>{2} == rules_of_check(rig));
    std::size_t written = 0;
    for (const nftables::ChainWrite& chain : rig.table.batches.front().chains)
      written += chain.spec.name == nftables::kClusterIpsCheck;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, written);
  }

  void unwanted_elements_are_removed_last() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    std::vector<ServiceSpec> services = many_services(1000, 3);
    ok(rig, rig.full({services.begin(), services.begin() + 500}));
    rig.restart();
    ok(rig, rig.full({services.begin() + 500, services.end()}));
    bool removing = false;
    for (const nftables::Batch& batch : rig.table.batches) {
      for (const nftables::ElementWrite& one : batch.elements) {
        CPPUNIT_ASSERT(one.remove || !removing);
        removing = removing || one.remove;
      }
    }
    CPPUNIT_ASSERT(removing);
    CPPUNIT_ASSERT_EQUAL(std::size_t{500}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1500}, rig.table.frontends(SetId::kEndpoints).size());
  }

  // Removes affinity ids, which change if the kernel has none.
  static std::string without_ids(const std::string& text) {
    std::istringstream lines(text);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("affinity-", 0) == 0) line = line.substr(0, line.find(' '));
      kept += line + '\n';
    }
    return kept;
  }

  void drift_of_every_kind_is_repaired_and_nothing_else() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(20, 3);
    services[3].vips = {"1.2.3.4"};
    services[3].source_ranges = {"203.0.113.0/25"};
    services[4].affinity_seconds = 60;
    ok(rig, rig.full(services));
    const std::string before = rig.table.text();
    auto& state = rig.table.state;
    const std::vector<std::pair<std::function<void()>, std::uint64_t>> drifts{
        {[&] { state.elements[SetId::kServiceIps].erase(key(services[0])); }, 1},
        {[&] { state.elements[SetId::kServiceIps].at(key(services[0])).data = nftables::number_data(99); }, 2},
        {[&] { state.elements[SetId::kServiceIps].at(key(services[0])).comment = "other"; }, 2},
        {[&] { state.elements[SetId::kNoEndpointServices][key(services[1])] = {}; }, 1},
        {[&] { state.elements[SetId::kHairpin].clear(); }, 20},
        {[&] { state.elements[SetId::kAffinitySlots].clear(); }, 3},
        {[&] { state = {}; }, 0},
    };
    for (const auto& [drift, writes] : drifts) {
      drift();
      ok(rig, rig.full(services));
      if (writes != 0) {
        CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
        CPPUNIT_ASSERT_EQUAL(writes, rig.result.kernel_writes);
      } else {
        CPPUNIT_ASSERT_EQUAL(without_ids(before), without_ids(rig.table.text()));
      }
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    }
    const std::string now = rig.table.text();
    state.chains.at("endpoints-3").rules.clear();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(now, rig.table.text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.at(0).chains.size());
    CPPUNIT_ASSERT(rig.table.batches.at(0).elements.empty());
    state.chains.at("nat-output").rules.clear();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(now, rig.table.text());
    // The chain gets a new number, as the old one is unknown.
    state.dispatch.erase({false, nftables::read_number(state.elements[SetId::kServiceIps].at(key(services[0])).data)});
    ok(rig, rig.full(services));
    const auto number = nftables::read_number(state.elements[SetId::kServiceIps].at(key(services[0])).data);
    CPPUNIT_ASSERT_EQUAL(std::string("endpoints-3"), state.dispatch.at({false, number}));
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void a_table_of_another_shape_is_replaced_at_once() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(repetitions(10000), 2);
    ok(rig, rig.full(services));
    const std::string good = rig.table.text();
    auto& state = rig.table.state;
    const std::vector<std::function<void()>> changes{
        [&] { state.sets.at("service-treatments").data_size = 16; },
        [&] { state.sets.at("affinity").capacity = 7; },
        [&] { state.sets["mine"] = state.sets.at("service-treatments"); },
        [&] { state.chains.at("nat-prerouting").hook.priority = 5; },
        [&] { state.chains["service-ULMVA6XW-ns1/svc1/tcp/p80"]; },
    };
    for (const auto& change : changes) {
      change();
      rig.restart();
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
      CPPUNIT_ASSERT(rig.table.batches[0].delete_table && rig.table.batches[0].create_table);
      CPPUNIT_ASSERT(good == rig.table.text());
    }
    rig.restart_with({{"counters", "true"}});
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.table.state.sets.contains("service-traffic"));
    rig.restart_with({});
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(good == rig.table.text());
  }

  void a_huge_change_is_divided() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    ok(rig, rig.full({}));
    std::vector<ServiceSpec> services = many_services(900, 12);
    ok(rig, rig.delta(services));
    CPPUNIT_ASSERT(rig.table.batches.size() > 4);
    CPPUNIT_ASSERT_EQUAL(std::size_t{900}, rig.table.frontends(SetId::kServiceIps).size());
    ok(rig, rig.delta({services[3]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesWriterTest);

}  // namespace writer_test
}  // namespace sluice::test

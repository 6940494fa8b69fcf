// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How the table is written: order, chunks, what is refused, what others do to it, and what goes later.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace {

using nftables::SetId;

class NftablesWriterTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesWriterTest);
  CPPUNIT_TEST(resolvers_and_the_api_server_come_first);
  CPPUNIT_TEST(no_service_port_is_divided);
  CPPUNIT_TEST(what_nobody_wants_goes_last);
  CPPUNIT_TEST(damage_of_every_kind_is_repaired_and_nothing_else);
  CPPUNIT_TEST(a_table_of_another_shape_is_replaced_at_once);
  CPPUNIT_TEST(who_is_refused_is_named_and_tried_again);
  CPPUNIT_TEST(a_refused_change_leaves_the_others_in);
  CPPUNIT_TEST(what_a_refused_one_shares_stays);
  CPPUNIT_TEST(a_refusal_of_nobodys_fails_with_a_sentence);
  CPPUNIT_TEST(somebody_elses_change_met_by_a_delta_takes_a_full_one);
  CPPUNIT_TEST(somebody_who_interferes_without_end_is_told_of);
  CPPUNIT_TEST(a_lost_answer_is_made_good);
  CPPUNIT_TEST(a_failure_between_chunks_is_made_good);
  CPPUNIT_TEST(changes_of_others_ask_for_a_full_one_with_rest);
  CPPUNIT_TEST(unused_chains_go_after_a_second);
  CPPUNIT_TEST(chains_that_are_in_use_are_tried_again);
  CPPUNIT_TEST(chains_nobody_knows_go_later);
  CPPUNIT_TEST(a_huge_change_is_divided);
  CPPUNIT_TEST_SUITE_END();

  static void ok(abi::Code code) { CPPUNIT_ASSERT_EQUAL(std::int32_t{0}, static_cast<std::int32_t>(code)); }
  static void ok(const NftablesRig& rig, abi::Code code) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, std::int32_t{0}, static_cast<std::int32_t>(code));
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
  static nftables::Key key(const ServiceSpec& service) {
    const auto address = *sdk::parse_address(service.cluster_ip, abi::Family::kIpv4);
    return nftables::frontend_key(abi::Family::kIpv4, {false, address, service.protocol, service.port});
  }
  static bool is_of(const nftables::ElementWrite& write, const ServiceSpec& service) {
    return write.record.set == SetId::kServiceIps && write.record.key == key(service);
  }

  void resolvers_and_the_api_server_come_first() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(9000, 2);
    services[8000].port = 53;
    services[8500].namespace_name = "default";
    services[8500].name = "kubernetes";
    services[8999].namespace_name = "zz";
    services[8999].name = "coredns";
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.table.batches.size() >= 2);
    std::vector<std::string> owners = rig.table.batches[0].owners;
    owners.resize(5);
    const std::vector<std::string> wanted{"", "bench/svc-8000:p80", "zz/coredns:p80", "default/kubernetes:p80",
                                          "bench/svc-0:p80"};
    CPPUNIT_ASSERT(wanted == owners);
  }

  void no_service_port_is_divided() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(9000, 5)));
    CPPUNIT_ASSERT(rig.table.batches.size() >= 3);
    std::set<std::string> seen;
    for (const nftables::Batch& batch : rig.table.batches) {
      CPPUNIT_ASSERT(batch.elements.size() < 21000);
      for (const std::string& owner : batch.owners) CPPUNIT_ASSERT(owner.empty() || seen.insert(owner).second);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{9000}, seen.size());
    CPPUNIT_ASSERT(rig.table.batches[0].create_table && !rig.table.batches[0].chains.empty());
    for (std::size_t i = 1; i < rig.table.batches.size(); ++i) CPPUNIT_ASSERT(rig.table.batches[i].chains.empty());
  }

  void what_nobody_wants_goes_last() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(10000, 3);
    ok(rig, rig.full({services.begin(), services.begin() + 5000}));
    rig.restart();
    ok(rig, rig.full({services.begin() + 5000, services.end()}));
    bool removing = false;
    for (const nftables::Batch& batch : rig.table.batches) {
      for (const nftables::ElementWrite& one : batch.elements) {
        CPPUNIT_ASSERT(one.remove || !removing);
        removing = removing || one.remove;
      }
    }
    CPPUNIT_ASSERT(removing);
    CPPUNIT_ASSERT_EQUAL(std::size_t{5000}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{15000}, rig.table.frontends(SetId::kEndpoints).size());
  }

  void damage_of_every_kind_is_repaired_and_nothing_else() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(20, 3);
    services[3].vips = {"1.2.3.4"};
    services[3].source_ranges = {"203.0.113.0/25"};
    services[4].affinity_seconds = 60;
    ok(rig, rig.full(services));
    const std::string before = rig.table.text();
    auto& state = rig.table.state;
    const std::vector<std::pair<std::function<void()>, std::uint64_t>> damages{
        {[&] { state.elements[SetId::kServiceIps].erase(key(services[0])); }, 1},
        {[&] { state.elements[SetId::kServiceIps].at(key(services[0])).data = nftables::number_data(99); }, 2},
        {[&] { state.elements[SetId::kServiceIps].at(key(services[0])).comment = "somebody"; }, 2},
        {[&] { state.elements[SetId::kNoEndpointServices][key(services[1])] = {}; }, 1},
        {[&] { state.elements[SetId::kHairpin].clear(); }, 20},
        {[&] { state.elements[SetId::kAffinitySlots].clear(); }, 3},
        {[&] { state = {}; }, 0},
    };
    for (const auto& [damage, writes] : damages) {
      damage();
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
      if (writes != 0) CPPUNIT_ASSERT_EQUAL(writes, rig.result.kernel_writes);
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    }
    state.chains.at("endpoints-3").rules.clear();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.at(0).chains.size());
    CPPUNIT_ASSERT(rig.table.batches.at(0).elements.empty());
    state.chains.at("nat-output").rules.clear();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    // Its chain gets another number, as nobody knows where the old one led.
    state.dispatch.erase({false, nftables::read_number(state.elements[SetId::kServiceIps].at(key(services[0])).data)});
    ok(rig, rig.full(services));
    const auto number = nftables::read_number(state.elements[SetId::kServiceIps].at(key(services[0])).data);
    CPPUNIT_ASSERT_EQUAL(std::string("endpoints-3"), state.dispatch.at({false, number}));
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void a_table_of_another_shape_is_replaced_at_once() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(10000, 2);
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

  void who_is_refused_is_named_and_tried_again() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(9000, 2);
    bool refusing = true;
    rig.table.refuse = [&](const nftables::ElementWrite& one) {
      return refusing && !one.remove && (is_of(one, services[2]) || is_of(one, services[8990])) ? ENFILE : 0;
    };
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], rig.host.failed[0].starts_with("bench/svc-2:p80: the kernel refuses "));
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], has(rig.host.failed[0], "(ENFILE); the set is full"));
    CPPUNIT_ASSERT_EQUAL(std::uint32_t{2}, rig.result.failed_services);
    CPPUNIT_ASSERT_EQUAL(std::size_t{8998}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2 * 8998}, rig.table.frontends(SetId::kEndpoints).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{8998}, rig.table.state.elements[SetId::kClusterIps].size());
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    ok(rig, rig.delta({services[7]}));
    rig.pass(61);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    refusing = false;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{9000}, rig.table.frontends(SetId::kServiceIps).size());
    rig.pass(4000);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
  }

  void a_refused_change_leaves_the_others_in() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(30, 2);
    ok(rig, rig.full(services));
    services[3].endpoints[0].address = "10.99.0.1";
    services[4].endpoints.push_back({"10.99.0.2", 8080, true});
    services[5].cluster_ip = "172.29.0.1";
    rig.table.refuse = [&](const nftables::ElementWrite& one) { return is_of(one, services[5]) ? EINVAL : 0; };
    ok(rig, rig.delta({services[3], services[4], services[5]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT(rig.host.failed[0].starts_with("bench/svc-5:p80: "));
    rig.table.refuse = nullptr;
    NftablesRig fresh;
    std::vector<ServiceSpec> others = services;
    others.erase(others.begin() + 5);
    ok(fresh, fresh.full(others));
    for (const SetId set : {SetId::kServiceIps, SetId::kEndpoints}) {
      CPPUNIT_ASSERT(fresh.table.frontends(set) == rig.table.frontends(set));
    }
    CPPUNIT_ASSERT_EQUAL(fresh.table.state.elements[SetId::kClusterIps].size(),
                         rig.table.state.elements[SetId::kClusterIps].size());
    ok(rig, rig.delta({services[5]}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{30}, rig.table.frontends(SetId::kServiceIps).size());
  }

  void what_a_refused_one_shares_stays() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(2, 2);
    services[1].cluster_ip = services[0].cluster_ip;
    services[1].port = 81;
    services[1].endpoints = services[0].endpoints;
    rig.table.refuse = [&](const nftables::ElementWrite& one) { return is_of(one, services[0]) ? EINVAL : 0; };
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.failed.size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.state.elements[SetId::kClusterIps].size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.state.elements[SetId::kHairpin].size());
    CPPUNIT_ASSERT(std::vector<std::string>{"172.30.0.1:81/tcp"} == rig.table.frontends(SetId::kServiceIps));
  }

  void a_refusal_of_nobodys_fails_with_a_sentence() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(3, 2);
    rig.table.refuse_other = [](const std::string& what) {
      return what == "rule 1 of chain services" ? EOPNOTSUPP : 0;
    };
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "the kernel refuses rule 1 of chain services: "));
    CPPUNIT_ASSERT(!rig.table.state.exists);
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    rig.table.refuse_other = nullptr;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{3}, rig.table.frontends(SetId::kServiceIps).size());
  }

  void somebody_elses_change_met_by_a_delta_takes_a_full_one() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    rig.table.state.elements[SetId::kServiceIps].erase(key(services[1]));
    CPPUNIT_ASSERT(rig.delta({}, {services[1]}) == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "somebody else has changed the table"));
    CPPUNIT_ASSERT(rig.delta({services[0]}) == abi::Code::kNeedFull);
    ok(rig, rig.full({services[0], services[2]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, rig.table.frontends(SetId::kEndpoints).size());
  }

  void somebody_who_interferes_without_end_is_told_of() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    // Who takes an element away between listing and writing.
    rig.table.state.elements[SetId::kNoEndpointServices][key(services[1])] = {};
    rig.table.before = [&](const nftables::Batch&) { rig.table.state.elements[SetId::kNoEndpointServices].clear(); };
    ok(rig, rig.full(services));
    rig.table.before = [&](const nftables::Batch&) { rig.table.state.elements[SetId::kNoEndpointServices].clear(); };
    rig.table.before_list = [&] { rig.table.state.elements[SetId::kNoEndpointServices][key(services[1])] = {}; };
    const std::uint64_t listings = rig.table.figures.listings;
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kKernel);
    CPPUNIT_ASSERT(rig.table.figures.listings - listings < 10);
    rig.table.before = nullptr;
    rig.table.before_list = nullptr;
    ok(rig, rig.full(services));
  }

  void a_lost_answer_is_made_good() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(30, 2);
    ok(rig, rig.full(services));
    services[3].endpoints.push_back({"10.99.0.2", 8080, true});
    for (const bool carried_out : {false, true}) {
      services[3].endpoints.back().address += "0";
      rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "table", "no answer");
      rig.table.lose_next = carried_out;
      CPPUNIT_ASSERT(rig.delta({services[3]}) == abi::Code::kRetry);
      CPPUNIT_ASSERT(rig.delta({services[4]}) == abi::Code::kNeedFull);
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(carried_out, rig.result.kernel_writes == 0);
      NftablesRig fresh;
      ok(fresh, fresh.full(services));
      CPPUNIT_ASSERT(fresh.table.frontends(SetId::kEndpoints) == rig.table.frontends(SetId::kEndpoints));
    }
  }

  void a_failure_between_chunks_is_made_good() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(9000, 2);
    unsigned commits = 0;
    rig.table.before = [&](const nftables::Batch&) {
      if (++commits == 2) rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "table", "no buffer");
    };
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kRetry);
    CPPUNIT_ASSERT(rig.result.kernel_writes > 0);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    rig.table.before = nullptr;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{9000}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT(!rig.table.batches[0].create_table);
  }

  void changes_of_others_ask_for_a_full_one_with_rest() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    rig.pass(1);
    rig.table.tell("nft (pid 7) has changed set service-treatments");
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    CPPUNIT_ASSERT(has(rig.host.resyncs[0], "nft (pid 7)"));
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(has(rig.error.message, "nft (pid 7)"));
    rig.host.step = 1000;  // the full one takes a while
    ok(rig, rig.full(services));
    ok(rig.verify());
    CPPUNIT_ASSERT(rig.table.armed);
    // At once again: it waits until the rest is over, and asks then.
    const std::uint64_t before = rig.host.clock;
    rig.table.tell("again");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.resyncs.size());
    CPPUNIT_ASSERT(rig.host.clock - before < 1'000'000);
    ok(rig, rig.full(services));
    ok(rig.retire({"nft/ip/kube-proxy"}));
    rig.table.tell("afterwards");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.resyncs.size());
  }

  void unused_chains_go_after_a_second() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(3, 2);
    services[0].vips = {"1.2.3.4"};
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("external-2"));
    services[0].vips.clear();
    services[0].endpoints.push_back({"10.99.0.2", 8080, true});
    ok(rig, rig.delta({services[0]}));
    ok(rig.verify());
    CPPUNIT_ASSERT(rig.table.state.chains.contains("external-2"));
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("external-2"));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("endpoints-2"));  // used by others
    for (const std::size_t one : {1, 2}) services[one].endpoints.pop_back();
    ok(rig, rig.delta({services[1], services[2]}));
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("endpoints-2"));
    // And come back.
    services[0].vips = {"1.2.3.4"};
    services[0].endpoints.pop_back();
    ok(rig, rig.delta({services[0]}));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("external-2"));
    ok(rig.verify());
    rig.restart();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void chains_that_are_in_use_are_tried_again() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(3, 2);
    services[0].endpoints.pop_back();
    ok(rig, rig.full(services));
    ok(rig, rig.delta({}, {services[0]}));
    bool busy = true;
    rig.table.refuse_other = [&](const std::string& what) {
      return busy && what == "the removal of chain endpoints-1" ? EBUSY : 0;
    };
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT_EQUAL(1.0, rig.metric("kubeproxy_sync_proxy_rules_nftables_cleanup_failures_total"));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("endpoints-1"));
    busy = false;
    ok(rig.verify());
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("endpoints-1"));
    // Somebody else was faster.
    services[1].endpoints.pop_back();
    ok(rig, rig.delta({services[1]}));
    ok(rig, rig.delta({}, {services[1]}));
    rig.table.state.dispatch.clear();
    rig.pass(2);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    ok(rig, rig.full({services[2]}));
    ok(rig.verify());
  }

  void chains_nobody_knows_go_later() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(3, 2);
    services[0].endpoints.pop_back();
    services[0].vips = {"1.2.3.4"};
    ok(rig, rig.full(services));
    ok(rig, rig.delta({}, {services[0]}));
    rig.restart();  // before they are removed
    services.erase(services.begin());
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    CPPUNIT_ASSERT(rig.table.state.chains.contains("external-1"));
    for (int i = 0; i < 2; ++i) {
      rig.pass(2);
      ok(rig.verify());
    }
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("external-1"));
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("endpoints-1"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.state.dispatch.size());
    NftablesRig fresh;
    ok(fresh, fresh.full(services));
    CPPUNIT_ASSERT_EQUAL(fresh.table.state.chains.size(), rig.table.state.chains.size());
    // One that is wanted again before it is gone.
    rig.table.state.chains["endpoints-1"] = rig.table.state.chains.at("endpoints-2");
    ok(rig, rig.full(services));
    services[0].endpoints.pop_back();
    ok(rig, rig.delta({services[0]}));
    rig.pass(2);
    ok(rig.verify());
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT(rig.table.state.chains.contains("endpoints-1"));
    CPPUNIT_ASSERT(rig.table.state.chains.at("endpoints-1").rules != rig.table.state.chains.at("endpoints-2").rules);
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void a_huge_change_is_divided() {
    NftablesRig rig;
    ok(rig, rig.full({}));
    std::vector<ServiceSpec> services = many_services(9000, 12);
    ok(rig, rig.delta(services));
    CPPUNIT_ASSERT(rig.table.batches.size() > 4);
    CPPUNIT_ASSERT_EQUAL(std::size_t{9000}, rig.table.frontends(SetId::kServiceIps).size());
    ok(rig, rig.delta({services[3]}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesWriterTest);

}  // namespace
}  // namespace sluice::test

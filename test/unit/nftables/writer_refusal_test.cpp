// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What is refused, what fails, and what others do meanwhile.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace writer_refusal_test {

using nftables::SetId;

class NftablesWriterRefusalTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesWriterRefusalTest);
  CPPUNIT_TEST(who_is_refused_is_named_and_tried_again);
  CPPUNIT_TEST(a_refused_change_leaves_the_others_in);
  CPPUNIT_TEST(what_a_refused_one_shares_stays);
  CPPUNIT_TEST(a_refusal_of_nobodys_fails_with_a_sentence);
  CPPUNIT_TEST(somebody_elses_change_met_by_a_delta_takes_a_full_one);
  CPPUNIT_TEST(somebody_who_interferes_without_end_is_told_of);
  CPPUNIT_TEST(a_lost_answer_is_made_good);
  CPPUNIT_TEST(a_failure_between_chunks_is_made_good);
  CPPUNIT_TEST(changes_of_others_ask_for_a_full_one_with_rest);
  CPPUNIT_TEST_SUITE_END();

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
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.left_out());
    CPPUNIT_ASSERT_EQUAL(std::size_t{8998}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2 * 8998}, rig.table.frontends(SetId::kEndpoints).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{8998}, rig.table.state.elements[SetId::kClusterIps].size());
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    ok(rig, rig.delta({services[7]}));
    ok(rig.verify());
    refusing = false;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{9000}, rig.table.frontends(SetId::kServiceIps).size());
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
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesWriterRefusalTest);

}  // namespace writer_refusal_test
}  // namespace sluice::test

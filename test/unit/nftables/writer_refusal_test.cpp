// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Refusals, failures, and foreign changes during a write.
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
  CPPUNIT_TEST(refused_service_ports_are_reported_and_retried);
  CPPUNIT_TEST(a_refused_change_leaves_the_others_in);
  CPPUNIT_TEST(shared_elements_of_a_refused_service_port_stay);
  CPPUNIT_TEST(unowned_refusal_fails_with_the_reason);
  CPPUNIT_TEST(delta_after_foreign_change_needs_a_full_one);
  CPPUNIT_TEST(endless_foreign_changes_fail);
  CPPUNIT_TEST(lost_answer_is_repaired);
  CPPUNIT_TEST(failure_between_chunks_is_repaired);
  CPPUNIT_TEST(foreign_changes_request_a_throttled_resync);
  CPPUNIT_TEST_SUITE_END();

  void refused_service_ports_are_reported_and_retried() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    const std::vector<ServiceSpec> services = many_services(900, 2);
    bool refusing = true;
    rig.table.refuse = [&](const nftables::ElementWrite& one) {
      return refusing && !one.remove && (is_of(one, services[2]) || is_of(one, services[899])) ? ENFILE : 0;
    };
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.failed.size());
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], rig.host.failed[0].starts_with("bench/svc-2:p80: the kernel refuses "));
    CPPUNIT_ASSERT_MESSAGE(rig.host.failed[0], has(rig.host.failed[0], "(ENFILE); the set is full"));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.not_programmed());
    CPPUNIT_ASSERT_EQUAL(std::size_t{898}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{2 * 898}, rig.table.frontends(SetId::kEndpoints).size());
    CPPUNIT_ASSERT_EQUAL(std::size_t{898}, rig.table.state.elements[SetId::kClusterIps].size());
    CPPUNIT_ASSERT(rig.host.resyncs.empty());
    ok(rig, rig.delta({services[7]}));
    ok(rig.verify());
    refusing = false;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{900}, rig.table.frontends(SetId::kServiceIps).size());
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
    std::vector<ServiceSpec> remaining = services;
    remaining.erase(remaining.begin() + 5);
    ok(fresh, fresh.full(remaining));
    for (const SetId set : {SetId::kServiceIps, SetId::kEndpoints}) {
      CPPUNIT_ASSERT(fresh.table.frontends(set) == rig.table.frontends(set));
    }
    CPPUNIT_ASSERT_EQUAL(fresh.table.state.elements[SetId::kClusterIps].size(),
                         rig.table.state.elements[SetId::kClusterIps].size());
    ok(rig, rig.delta({services[5]}));
    CPPUNIT_ASSERT(rig.host.failed.empty());
    CPPUNIT_ASSERT_EQUAL(std::size_t{30}, rig.table.frontends(SetId::kServiceIps).size());
  }

  void shared_elements_of_a_refused_service_port_stay() {
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

  void unowned_refusal_fails_with_the_reason() {
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

  void delta_after_foreign_change_needs_a_full_one() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    rig.table.state.elements[SetId::kServiceIps].erase(key(services[1]));
    CPPUNIT_ASSERT(rig.delta({}, {services[1]}) == abi::Code::kNeedFull);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "another process has changed the table"));
    CPPUNIT_ASSERT(rig.delta({services[0]}) == abi::Code::kNeedFull);
    ok(rig, rig.full({services[0], services[2]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, rig.table.frontends(SetId::kEndpoints).size());
  }

  void endless_foreign_changes_fail() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    // Another process removes an element between listing and write.
    rig.table.state.elements[SetId::kNoEndpointServices][key(services[1])] = {};
    rig.table.before = [&](const nftables::Batch&) { rig.table.state.elements[SetId::kNoEndpointServices].clear(); };
    ok(rig, rig.full(services));
    rig.table.before = [&](const nftables::Batch&) { rig.table.state.elements[SetId::kNoEndpointServices].clear(); };
    rig.table.before_list = [&] { rig.table.state.elements[SetId::kNoEndpointServices][key(services[1])] = {}; };
    const std::uint64_t listings = rig.table.statistics.listings;
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kKernel);
    CPPUNIT_ASSERT(rig.table.statistics.listings - listings < 10);
    rig.table.before = nullptr;
    rig.table.before_list = nullptr;
    ok(rig, rig.full(services));
  }

  void lost_answer_is_repaired() {
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

  void failure_between_chunks_is_repaired() {
    NftablesRig rig;
    rig.write_in_small_chunks();
    const std::vector<ServiceSpec> services = many_services(900, 2);
    unsigned commits = 0;
    rig.table.before = [&](const nftables::Batch&) {
      if (++commits == 2) rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "table", "no buffer");
    };
    CPPUNIT_ASSERT(rig.full(services) == abi::Code::kRetry);
    CPPUNIT_ASSERT(rig.result.kernel_writes > 0);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    rig.table.before = nullptr;
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{900}, rig.table.frontends(SetId::kServiceIps).size());
    CPPUNIT_ASSERT(!rig.table.batches[0].create_table);
  }

  void foreign_changes_request_a_throttled_resync() {
    NftablesRig rig;
    const std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    rig.pass(1);
    rig.table.report_change("nft (pid 7) has changed set cluster-ips");
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.host.resyncs.size());
    CPPUNIT_ASSERT(has(rig.host.resyncs[0], "nft (pid 7)"));
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    CPPUNIT_ASSERT(has(rig.error.message, "nft (pid 7)"));
    rig.host.step = 1000;  // the full transaction takes a while
    ok(rig, rig.full(services));
    ok(rig.verify());
    CPPUNIT_ASSERT(rig.table.armed);
    // A second report at once: the resync is requested after the pause.
    const std::uint64_t before = rig.host.clock;
    rig.table.report_change("again");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.resyncs.size());
    CPPUNIT_ASSERT(rig.host.clock - before < 1'000'000);
    ok(rig, rig.full(services));
    ok(rig.retire({"nft/ip/kube-proxy"}));
    rig.table.report_change("afterwards");
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.host.resyncs.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesWriterRefusalTest);

}  // namespace writer_refusal_test
}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Unused shared chains, and chains left by an earlier process.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace writer_chains_test {

class NftablesWriterChainsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesWriterChainsTest);
  CPPUNIT_TEST(new_chains_are_there_before_what_leads_to_them);
  CPPUNIT_TEST(unused_chains_go_after_a_second);
  CPPUNIT_TEST(chains_that_are_in_use_are_tried_again);
  CPPUNIT_TEST(unknown_chains_are_removed_later);
  CPPUNIT_TEST_SUITE_END();

  // A packet in flight sees the rules of its arrival, and current elements.
  void new_chains_are_there_before_what_leads_to_them() {
    NftablesRig rig;
    std::vector<ServiceSpec> services = many_services(3, 2);
    ok(rig, rig.full(services));
    services[0].endpoints.push_back({"10.99.0.2", 8080, true});
    ok(rig, rig.delta({services[0]}));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.table.batches.size());
    CPPUNIT_ASSERT(rig.table.batches[0].elements.empty() && !rig.table.batches[0].chains.empty());
    CPPUNIT_ASSERT(!rig.table.batches[0].dispatch.empty());
    CPPUNIT_ASSERT(rig.table.batches[1].chains.empty() && !rig.table.batches[1].elements.empty());
    // As in a full comparison.
    services[1].endpoints.clear();
    for (int i = 0; i < 4; ++i) services[1].endpoints.push_back({"10.99.1." + std::to_string(i), 8080, true});
    rig.restart();
    ok(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{2}, rig.table.batches.size());
    CPPUNIT_ASSERT(rig.table.batches[0].elements.empty() && !rig.table.batches[0].chains.empty());
    CPPUNIT_ASSERT(rig.table.batches[1].chains.empty() && !rig.table.batches[1].elements.empty());
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
    CPPUNIT_ASSERT(rig.table.state.chains.contains("endpoints-2"));  // used by other service ports
    for (const std::size_t one : {1, 2}) services[one].endpoints.pop_back();
    ok(rig, rig.delta({services[1], services[2]}));
    rig.pass(2);
    ok(rig.verify());
    CPPUNIT_ASSERT(!rig.table.state.chains.contains("endpoints-2"));
    // Used again.
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
    // Another process writes first.
    services[1].endpoints.pop_back();
    ok(rig, rig.delta({services[1]}));
    ok(rig, rig.delta({}, {services[1]}));
    rig.table.state.dispatch.clear();
    rig.pass(2);
    CPPUNIT_ASSERT(rig.verify() == abi::Code::kNeedFull);
    ok(rig, rig.full({services[2]}));
    ok(rig.verify());
  }

  void unknown_chains_are_removed_later() {
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
    // A chain that is used again before its removal.
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
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesWriterChainsTest);

}  // namespace writer_chains_test
}  // namespace sluice::test

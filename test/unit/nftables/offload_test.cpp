// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The interfaces of the flowtable: by name and by prefix, when they come and go, and when the kernel refuses some.
#include "plugins/nftables/offload.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <set>
#include <string>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace offload_test {

using Names = std::set<std::string>;

class OffloadTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(OffloadTest);
  CPPUNIT_TEST(the_selected_interfaces_are_added);
  CPPUNIT_TEST(interfaces_come_and_go);
  CPPUNIT_TEST(unknown_interfaces_change_nothing);
  CPPUNIT_TEST(many_interfaces_take_several_transactions);
  CPPUNIT_TEST(refused_interfaces_are_logged_once);
  CPPUNIT_TEST(interfaces_that_vanish_are_no_problem);
  CPPUNIT_TEST(without_a_flowtable_nothing_is_written);
  CPPUNIT_TEST(a_restart_writes_nothing);
  CPPUNIT_TEST(turned_off_nothing_is_left);
  CPPUNIT_TEST(a_removed_rule_is_repaired);
  CPPUNIT_TEST_SUITE_END();

  static ServiceSpec example() {
    ServiceSpec service;
    service.cluster_ip = "172.30.0.41";
    service.node_port = 30001;
    service.endpoints = {{"10.180.0.1", 80, true}, {"10.180.2.1", 80, false}};
    return service;
  }

  static BackendOptions options() { return {{"offloadInterfaces[0]", "eth0"}, {"offloadInterfaces[1]", "veth*"}}; }

  static void ok(const NftablesRig& rig, abi::Code code) {
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, std::int32_t{0}, static_cast<std::int32_t>(code));
  }

  // A backend that offloads, after its first full transaction.
  struct Offloading {
    explicit Offloading(Names interfaces = {"lo", "eth0", "eth1", "veth1", "cni0"}) {
      rig.table.node_interfaces = std::move(interfaces);
      ok(rig, rig.full({example()}));
    }
    Names now() const { return rig.table.state.flowtable.value_or(Names{"no flowtable"}); }
    NftablesRig rig{abi::Family::kIpv4, options()};
  };

  void the_selected_interfaces_are_added() {
    Offloading offloading;
    CPPUNIT_ASSERT((Names{"eth0", "veth1"}) == offloading.now());
    CPPUNIT_ASSERT_EQUAL(2.0, offloading.rig.metric("sluice_nftables_offload_interfaces"));
    NftablesRig all(abi::Family::kIpv6, {{"offloadInterfaces[0]", "e*"}, {"offloadInterfaces[1]", "l*"}});
    all.table.node_interfaces = {"lo", "eth0", "cni0"};
    ok(all, all.full({}));
    CPPUNIT_ASSERT((Names{"eth0"}) == *all.table.state.flowtable);
    NftablesRig none;
    ok(none, none.full({example()}));
    CPPUNIT_ASSERT(!none.table.state.flowtable);
    CPPUNIT_ASSERT_EQUAL(-1.0, none.metric("sluice_nftables_offload_interfaces"));
    CPPUNIT_ASSERT(none.table.frontends(nftables::SetId::kServiceTraffic).empty());
  }

  void interfaces_come_and_go() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    rig.table.node_interfaces.insert("veth2");
    ok(rig, rig.verify());
    CPPUNIT_ASSERT((Names{"eth0", "veth1", "veth2"}) == offloading.now());
    const std::size_t written = rig.table.batches.size();
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(written, rig.table.batches.size());
    rig.table.state.flowtable->erase("eth0");  // by another process
    rig.table.state.flowtable->insert("cni0");
    ok(rig, rig.verify());
    CPPUNIT_ASSERT((Names{"eth0", "veth1", "veth2"}) == offloading.now());
    CPPUNIT_ASSERT_EQUAL(3.0, rig.metric("sluice_nftables_offload_interfaces"));
  }

  // An error of the listing must not remove the interfaces.
  void unknown_interfaces_change_nothing() {
    Offloading offloading;
    offloading.rig.table.node_interfaces.clear();
    ok(offloading.rig, offloading.rig.verify());
    CPPUNIT_ASSERT((Names{"eth0", "veth1"}) == offloading.now());
  }

  void many_interfaces_take_several_transactions() {
    Names many{"lo"};
    for (int i = 0; i < 250; ++i) many.insert("veth" + std::to_string(i));
    Offloading offloading(many);
    CPPUNIT_ASSERT_EQUAL(std::size_t{250}, offloading.now().size());
    std::size_t largest = 0;
    for (const nftables::Batch& batch : offloading.rig.table.batches) largest = std::max(largest, batch.add_interfaces.size());
    CPPUNIT_ASSERT_EQUAL(nftables::OffloadInterfaces::kChunk, largest);
  }

  void refused_interfaces_are_logged_once() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    rig.table.refuse_other = [](const std::string& what) { return what == "interface veth3" ? EOPNOTSUPP : 0; };
    rig.table.node_interfaces.insert({"veth2", "veth3", "veth4"});
    for (int i = 0; i < 3; ++i) ok(rig, rig.verify());
    CPPUNIT_ASSERT((Names{"eth0", "veth1", "veth2", "veth4"}) == offloading.now());
    std::size_t lines = 0;
    for (const auto& [severity, line] : rig.host.lines) lines += line.find("an interface cannot be offloaded: veth3: ") != std::string::npos;
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, lines);
  }

  void interfaces_that_vanish_are_no_problem() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    rig.table.refuse_other = [](const std::string& what) { return what == "interface veth3" ? ENOENT : 0; };
    rig.table.node_interfaces.insert({"veth2", "veth3"});
    ok(rig, rig.verify());
    CPPUNIT_ASSERT((Names{"eth0", "veth1", "veth2"}) == offloading.now());
    CPPUNIT_ASSERT(!rig.logged(abi::Severity::kWarning, "offloaded"));
  }

  void without_a_flowtable_nothing_is_written() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    rig.table.state.flowtable.reset();
    const std::size_t written = rig.table.batches.size();
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(written, rig.table.batches.size());
    // The kernel refuses the reading.
    rig.table.node_interfaces.insert("veth2");
    rig.table.state.flowtable = Names{"eth0", "veth1"};
    rig.table.fail_next = sdk::Failure(abi::Code::kRetry, "table", "lost");
    ok(rig, rig.verify());
    CPPUNIT_ASSERT(rig.logged(abi::Severity::kWarning, "an interface cannot be offloaded: "));
    ok(rig, rig.verify());
    CPPUNIT_ASSERT((Names{"eth0", "veth1", "veth2"}) == offloading.now());
  }

  void a_restart_writes_nothing() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    rig.restart();
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
  }

  void turned_off_nothing_is_left() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    NftablesRig off;
    off.table.state = rig.table.state;
    ok(off, off.full({example()}));
    CPPUNIT_ASSERT(!off.table.state.flowtable);
    CPPUNIT_ASSERT(!off.table.state.chains.contains(nftables::kOffloadChain));
    // And on again, in place.
    rig.table.state = off.table.state;
    rig.restart();
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT((Names{"eth0", "veth1"}) == offloading.now());
    for (const nftables::Batch& batch : rig.table.batches) CPPUNIT_ASSERT(!batch.delete_table);
  }

  // Another process can delete the flowtable once no rule refers to it.
  void a_removed_rule_is_repaired() {
    Offloading offloading;
    NftablesRig& rig = offloading.rig;
    rig.table.state.chains.at(nftables::kOffloadChain).rules.clear();
    rig.table.state.flowtable.reset();
    ok(rig, rig.full({example()}));
    CPPUNIT_ASSERT((Names{"eth0", "veth1"}) == offloading.now());
    CPPUNIT_ASSERT_EQUAL(std::size_t{4}, rig.table.state.chains.at(nftables::kOffloadChain).rules.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(OffloadTest);

}  // namespace offload_test
}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The probe: what it tries, and how it names what is missing.
#include "plugins/nftables/probe.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cerrno>
#include <set>
#include <string>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace probe_test {

class NftablesProbeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesProbeTest);
  CPPUNIT_TEST(everything_is_tried_and_nothing_left);
  CPPUNIT_TEST(what_is_missing_is_named);
  CPPUNIT_TEST(flowtables_are_tried_where_asked_for);
  CPPUNIT_TEST(distinguishes_privileges_and_transient_errors);
  CPPUNIT_TEST_SUITE_END();

  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  void everything_is_tried_and_nothing_left() {
    for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
      for (const std::string counters : {"false", "true"}) {
        NftablesRig rig(family, {{"counters", counters}});
        CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, std::int32_t{0}, static_cast<std::int32_t>(rig.probe()));
        CPPUNIT_ASSERT_EQUAL(1u, rig.table.dry_runs);
        CPPUNIT_ASSERT(!rig.table.state.exists);
        nftables::Settings settings;
        settings.counters = counters == "true";
        const nftables::Batch batch = nftables::probe_batch(family, settings);
        std::set<nftables::SetId> filled;
        for (const auto& one : batch.elements) filled.insert(one.record.set);
        CPPUNIT_ASSERT_EQUAL(nftables::kSetCount - (settings.counters ? 0 : 2), filled.size());
        CPPUNIT_ASSERT_EQUAL(filled.size() + 3, batch.create_sets.size());
      }
    }
  }

  // A kernel that has no module for some expressions.
  void what_is_missing_is_named() {
    NftablesRig rig;
    const nftables::Batch batch = nftables::probe_batch(abi::Family::kIpv4, {});
    const auto lacks = [&](const std::set<std::string>& expressions) {
      rig.table.refuse_other = [&batch, expressions](const std::string& what) {
        for (const auto& chain : batch.chains) {
          for (std::size_t i = 0; i < chain.spec.rules.size(); ++i) {
            if (what != "rule " + std::to_string(i + 1) + " of chain " + chain.spec.name) continue;
            for (const std::string& one : expressions) {
              if (has("\n" + chain.spec.rules[i].text, "\n" + one + " ")) return ENOENT;
            }
          }
        }
        return 0;
      };
      return rig.probe();
    };
    CPPUNIT_ASSERT(lacks({"fib"}) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "lacks fib (module nft_fib_ipv4); load"));
    CPPUNIT_ASSERT(lacks({"masq", "numgen"}) == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "masq (module nft_masq)"));
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "numgen (module nft_numgen)"));
    rig.table.refuse_other = [](const std::string& what) { return what == "chain nat-prerouting" ? ENOENT : 0; };
    CPPUNIT_ASSERT(rig.probe() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "chains of type nat (module nft_chain_nat)"));
    rig.table.refuse_other = [](const std::string& what) { return what == "set endpoints" ? EOPNOTSUPP : 0; };
    CPPUNIT_ASSERT(rig.probe() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "the kernel refuses set endpoints: "));
  }

  void flowtables_are_tried_where_asked_for() {
    NftablesRig without;
    without.table.refuse_other = [](const std::string& what) { return what == "flowtable service-flows" ? ENOENT : 0; };
    CPPUNIT_ASSERT(without.probe() == abi::Code::kOk);
    NftablesRig rig(abi::Family::kIpv4, {{"offloadInterfaces[0]", "eth0"}});
    CPPUNIT_ASSERT_EQUAL_MESSAGE(rig.error.message, std::int32_t{0}, static_cast<std::int32_t>(rig.probe()));
    rig.table.refuse_other = without.table.refuse_other;
    CPPUNIT_ASSERT(rig.probe() == abi::Code::kUnsupported);
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "offloadInterfaces needs flowtables, which the kernel of this "
                                                                     "node lacks; load the modules nf_flow_table_inet and "
                                                                     "nft_flow_offload, or remove offloadInterfaces"));
  }

  void distinguishes_privileges_and_transient_errors() {
    NftablesRig rig;
    for (const auto& [error, code] : {std::pair(EPERM, abi::Code::kDenied), std::pair(ENOMEM, abi::Code::kRetry)}) {
      const int error_code = error;
      rig.table.refuse_other = [error_code](const std::string& what) { return what == "the table" ? error_code : 0; };
      CPPUNIT_ASSERT(rig.probe() == code);
    }
    rig.table.refuse_other = nullptr;
    rig.table.fail_next = sdk::Failure(abi::Code::kUnsupported, "nf_tables", "this kernel has no nf_tables");
    CPPUNIT_ASSERT(rig.probe() == abi::Code::kUnsupported);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesProbeTest);

}  // namespace probe_test
}  // namespace sluice::test

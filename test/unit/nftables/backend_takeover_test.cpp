// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table is created while another backend serves, and deleted when another one takes over.
#include <cppunit/extensions/HelperMacros.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace backend_takeover_test {

using namespace nftables;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint32_t kDrain = 30;

void drains(abi::Code code) {
  CPPUNIT_ASSERT_EQUAL(static_cast<std::int32_t>(abi::Code::kRetry), static_cast<std::int32_t>(code));
}

std::size_t base_chains(const Batch& batch) {
  return static_cast<std::size_t>(std::count_if(batch.chains.begin(), batch.chains.end(),
                                                [](const ChainWrite& chain) { return chain.spec.is_base; }));
}

class NftablesTakeoverTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesTakeoverTest);
  CPPUNIT_TEST(retire_removes_base_chains_first);
  CPPUNIT_TEST(retire_deletes_table_later);
  CPPUNIT_TEST(retire_without_drain_deletes_at_once);
  CPPUNIT_TEST(claimed_table_stays);
  CPPUNIT_TEST(retires_table_of_another_process);
  CPPUNIT_TEST(table_of_another_shape_is_deleted_at_once);
  CPPUNIT_TEST(transient_refusals_are_retried);
  CPPUNIT_TEST(apply_after_retire_starts_over);
  CPPUNIT_TEST(large_table_gets_base_chains_last);
  CPPUNIT_TEST(small_table_is_one_transaction);
  CPPUNIT_TEST(later_syncs_are_unchanged);
  CPPUNIT_TEST_SUITE_END();

 public:
  void retire_removes_base_chains_first() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    const auto before = rig.table.state.chains.size();
    drains(rig.retire({}, kDrain));
    std::size_t hooks = 0;
    for (const auto& [name, chain] : rig.table.state.chains) {
      if (!chain.is_base) continue;
      ++hooks;
      CPPUNIT_ASSERT_EQUAL(std::string("nat-postrouting"), name);
    }
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, hooks);
    CPPUNIT_ASSERT_EQUAL(before - 7, rig.table.state.chains.size());
    CPPUNIT_ASSERT(!rig.table.state.elements.at(SetId::kServiceIps).empty());
  }

  void retire_deletes_table_later() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    drains(rig.retire({}, kDrain));
    rig.host.clock += 150 * kMillisecond;
    drains(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(rig.table.state.exists);
    rig.host.clock += 100 * kMillisecond;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(!rig.table.state.exists);
    ok(rig.retire({}, kDrain));  // the table is gone already
  }

  void retire_without_drain_deletes_at_once() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    ok(rig.retire({}, 0));
    CPPUNIT_ASSERT(!rig.table.state.exists);
    ok(rig, rig.full(many_services(3, 2)));
    drains(rig.retire({}, 1));
    ok(rig.retire({}, 0));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void claimed_table_stays() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    const std::string before = rig.table.text();
    ok(rig.retire(rig.claims(), kDrain));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
  }

  void retires_table_of_another_process() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    rig.restart();
    drains(rig.retire({}, kDrain));
    rig.restart();
    ok(rig.retire({}, kDrain));  // the base chains are gone already
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void table_of_another_shape_is_deleted_at_once() {
    NftablesRig rig;
    rig.table.state.exists = true;
    rig.table.state.chains["nat-prerouting"].is_base = true;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  // A table whose chains the kernel refuses to remove for now.
  void transient_refusals_are_retried() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    const std::string before = rig.table.text();
    rig.table.refuse_other = [](const std::string& what) { return has(what, "chain nat-prerouting") ? ENOMEM : 0; };
    drains(rig.retire({}, kDrain));
    CPPUNIT_ASSERT_MESSAGE(rig.error.message, has(rig.error.message, "nat-prerouting"));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    rig.table.refuse_other = [](const std::string& what) { return has(what, "chain nat-prerouting") ? EINVAL : 0; };
    CPPUNIT_ASSERT(rig.retire({}, kDrain) == abi::Code::kKernel);
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    rig.table.refuse_other = nullptr;
    drains(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(rig.table.state.chains.contains("nat-postrouting"));
    rig.host.clock += 250 * kMillisecond;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void apply_after_retire_starts_over() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    const std::string before = rig.table.text();
    drains(rig.retire({}, kDrain));
    rig.host.clock += 300 * kMillisecond;
    ok(rig, rig.full(many_services(3, 2)));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    drains(rig.retire({}, kDrain));
  }

  void large_table_gets_base_chains_last() {
    NftablesRig rig;
    rig.flags = abi::kCreatePredecessorServes;
    rig.write_in_small_chunks();
    ok(rig, rig.full(many_services(300, 10)));
    CPPUNIT_ASSERT(rig.table.batches.size() > 1);
    for (const Batch& batch : rig.table.batches) {
      CPPUNIT_ASSERT_EQUAL(std::size_t{&batch == &rig.table.batches.back() ? 8u : 0u}, base_chains(batch));
    }
    const std::string text = rig.table.text();
    NftablesRig plain;
    plain.write_in_small_chunks();
    ok(plain, plain.full(many_services(300, 10)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{8}, base_chains(plain.table.batches.front()));
    CPPUNIT_ASSERT_EQUAL(plain.table.text(), text);
  }

  void small_table_is_one_transaction() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(many_services(3, 2)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
  }

  void later_syncs_are_unchanged() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(many_services(3, 2)));
    ok(rig, rig.delta({many_services(4, 2).back()}));
    ok(rig, rig.full(many_services(4, 2)));
    CPPUNIT_ASSERT_EQUAL(std::uint64_t{0}, rig.result.kernel_writes);
    ok(rig, rig.verify());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesTakeoverTest);

}  // namespace backend_takeover_test
}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table comes while another backend serves, and goes when another one does.
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
  CPPUNIT_TEST(the_way_in_goes_first);
  CPPUNIT_TEST(the_rest_goes_later);
  CPPUNIT_TEST(without_time_all_goes_at_once);
  CPPUNIT_TEST(a_table_that_is_claimed_stays);
  CPPUNIT_TEST(leftovers_of_another_process);
  CPPUNIT_TEST(a_table_of_another_shape_goes_at_once);
  CPPUNIT_TEST(what_passes_is_waited_for);
  CPPUNIT_TEST(who_serves_again_begins_anew);
  CPPUNIT_TEST(a_large_table_opens_last);
  CPPUNIT_TEST(a_small_one_comes_at_once);
  CPPUNIT_TEST(afterwards_all_is_as_always);
  CPPUNIT_TEST_SUITE_END();

 public:
  void the_way_in_goes_first() {
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

  void the_rest_goes_later() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    drains(rig.retire({}, kDrain));
    rig.host.clock += 150 * kMillisecond;
    drains(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(rig.table.state.exists);
    rig.host.clock += 100 * kMillisecond;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(!rig.table.state.exists);
    ok(rig.retire({}, kDrain));  // there is nothing any more
  }

  void without_time_all_goes_at_once() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    ok(rig.retire({}, 0));
    CPPUNIT_ASSERT(!rig.table.state.exists);
    ok(rig, rig.full(many_services(3, 2)));
    drains(rig.retire({}, 1));
    ok(rig.retire({}, 0));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void a_table_that_is_claimed_stays() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    const std::string before = rig.table.text();
    ok(rig.retire(rig.claims(), kDrain));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
  }

  void leftovers_of_another_process() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    rig.restart();
    drains(rig.retire({}, kDrain));
    rig.restart();
    ok(rig.retire({}, kDrain));  // the way in was closed, by whomever
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  void a_table_of_another_shape_goes_at_once() {
    NftablesRig rig;
    rig.table.state.exists = true;
    rig.table.state.chains["nat-prerouting"].is_base = true;
    ok(rig.retire({}, kDrain));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }

  // A table of ours whose chains the kernel does not remove just now.
  void what_passes_is_waited_for() {
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

  void who_serves_again_begins_anew() {
    NftablesRig rig;
    ok(rig, rig.full(many_services(3, 2)));
    const std::string before = rig.table.text();
    drains(rig.retire({}, kDrain));
    rig.host.clock += 300 * kMillisecond;
    ok(rig, rig.full(many_services(3, 2)));
    CPPUNIT_ASSERT_EQUAL(before, rig.table.text());
    drains(rig.retire({}, kDrain));
  }

  void a_large_table_opens_last() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(many_services(3000, 10)));
    CPPUNIT_ASSERT(rig.table.batches.size() > 1);
    for (const Batch& batch : rig.table.batches) {
      CPPUNIT_ASSERT_EQUAL(std::size_t{&batch == &rig.table.batches.back() ? 8u : 0u}, base_chains(batch));
    }
    const std::string text = rig.table.text();
    NftablesRig plain;
    ok(plain, plain.full(many_services(3000, 10)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{8}, base_chains(plain.table.batches.front()));
    CPPUNIT_ASSERT_EQUAL(plain.table.text(), text);
  }

  void a_small_one_comes_at_once() {
    NftablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    ok(rig, rig.full(many_services(3, 2)));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.table.batches.size());
  }

  void afterwards_all_is_as_always() {
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

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An apply() that is cancelled: it ends early, and the next full transaction completes it.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/nftables/backend_rig.hpp"

namespace sluice::test {
namespace backend_cancelled_test {

class NftablesCancelledTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NftablesCancelledTest);
  CPPUNIT_TEST(a_load_ends_between_two_transactions_and_is_completed);
  CPPUNIT_TEST(a_cancelled_takeover_leaves_the_packet_path_alone);
  CPPUNIT_TEST_SUITE_END();

  void a_load_ends_between_two_transactions_and_is_completed() {
    const auto services = many_services(900, 2);
    NftablesRig expected;
    expected.write_in_small_chunks();
    ok(expected, expected.full(services));
    const std::size_t all = expected.table.batches.size();
    CPPUNIT_ASSERT(all > 2);
    for (std::size_t at = 0; at < all; ++at) {
      NftablesRig rig;
      rig.write_in_small_chunks();
      rig.cancelled = at == 0;
      rig.table.before = [&](const nftables::Batch&) { rig.cancelled = rig.table.batches.size() + 1 >= at; };
      const abi::Code code = rig.full(services);
      if (code == abi::Code::kOk) break;  // the last transaction
      expect_cancelled(rig, code);
      CPPUNIT_ASSERT(rig.table.batches.size() < all);
      rig.table.before = {};
      rig.cancelled = 0;
      CPPUNIT_ASSERT(rig.delta({services[0]}) == abi::Code::kNeedFull);
      if (at % 2 == 1) rig.restart();
      ok(rig, rig.full(services));
      CPPUNIT_ASSERT_EQUAL(expected.table.text(), rig.table.text());
    }
  }

  void a_cancelled_takeover_leaves_the_packet_path_alone() {
    NftablesRig rig;
    rig.table.chunk = nftables::Table().chunk / 10;
    rig.restart(abi::kCreatePredecessorServes);
    rig.table.before = [&](const nftables::Batch&) { rig.cancelled = 1; };
    expect_cancelled(rig, rig.full(many_services(900, 2)));
    for (const auto& [name, chain] : rig.table.state.chains) CPPUNIT_ASSERT_MESSAGE(name, !chain.is_base);
    rig.table.before = {};
    ok(rig, rig.retire({}));
    CPPUNIT_ASSERT(!rig.table.state.exists);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NftablesCancelledTest);

}  // namespace backend_cancelled_test
}  // namespace sluice::test

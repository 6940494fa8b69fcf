// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An apply() that is cancelled: it ends early, and the next full transaction completes it.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/userspace/backend_rig.hpp"

namespace sluice::test {
namespace backend_cancelled_test {

class UserspaceCancelledTest : public UserspaceFixture {
  CPPUNIT_TEST_SUITE(UserspaceCancelledTest);
  CPPUNIT_TEST(an_apply_ends_early_and_is_completed);
  CPPUNIT_TEST_SUITE_END();

  void an_apply_ends_early_and_is_completed() {
    const auto services = many_services(30, 2);
    rig().cancelled = 1;
    expect_cancelled(rig(), rig().full(services));
    CPPUNIT_ASSERT(rig().kernel.restores.empty());
    rig().cancelled = 0;
    ok(rig(), rig().full(services));
    const std::string before = rig().kernel.text();
    // The proxy port of a removed Service stays open until its rules are gone.
    rig().cancelled = 1;
    expect_cancelled(rig(), rig().full({services[0]}));
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
    CPPUNIT_ASSERT(rig().delta({services[0]}) == abi::Code::kNeedFull);
    rig().cancelled = 0;
    ok(rig(), rig().full(services));
    CPPUNIT_ASSERT_EQUAL(before, rig().kernel.text());
    CPPUNIT_ASSERT_EQUAL(std::size_t{0}, rig().kernel.restores.size());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(UserspaceCancelledTest);

}  // namespace backend_cancelled_test
}  // namespace sluice::test

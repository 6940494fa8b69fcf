// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An apply() that is cancelled: it ends early, and the next full transaction completes it.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/iptables/backend_rig.hpp"

namespace sluice::test {
namespace backend_cancelled_test {

class IptablesCancelledTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IptablesCancelledTest);
  CPPUNIT_TEST(a_load_ends_between_two_restores_and_is_completed);
  CPPUNIT_TEST(a_cancelled_takeover_leaves_the_old_backend_serving);
  CPPUNIT_TEST(verification_is_not_cancelled);
  CPPUNIT_TEST_SUITE_END();

  static std::size_t count_failures(const IptablesRig& rig) {
    std::size_t count = 0;
    for (const auto& [name, value] : rig.host.metrics) {
      if (name.find("restore_failures") != std::string::npos || name.find("lock_timeouts") != std::string::npos) count += value != 0;
    }
    return count;
  }

  void a_load_ends_between_two_restores_and_is_completed() {
    const auto services = many_services(300, 2);
    IptablesRig expected;
    ok(expected.full(services));
    const std::size_t restores = expected.kernel.restores.size();
    for (std::size_t at = 0; at < restores; ++at) {
      IptablesRig rig;
      rig.kernel.before_restore = [&](const std::string&) { rig.cancelled = rig.kernel.restores.size() >= at; };
      if (at == 0) rig.cancelled = 1;
      const abi::Code code = rig.full(services);
      if (rig.cancelled == 0 || code == abi::Code::kOk) break;  // the last restore
      expect_cancelled(rig, code);
      CPPUNIT_ASSERT(rig.kernel.restores.size() < restores);
      CPPUNIT_ASSERT_EQUAL(std::size_t{0}, count_failures(rig));
      rig.kernel.before_restore = {};
      rig.cancelled = 0;
      CPPUNIT_ASSERT(rig.delta({services[0]}) == abi::Code::kNeedFull);
      if (at % 2 == 1) rig.restart();
      ok(rig.full(services));
      CPPUNIT_ASSERT_EQUAL(expected.kernel.text(), rig.kernel.text());
    }
  }

  void a_cancelled_takeover_leaves_the_old_backend_serving() {
    const auto services = many_services(300, 2);
    IptablesRig rig;
    rig.restart(abi::kCreatePredecessorServes);
    rig.kernel.before_restore = [&](const std::string&) { rig.cancelled = 1; };
    expect_cancelled(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(std::size_t{1}, rig.kernel.restores.size());
    CPPUNIT_ASSERT_MESSAGE(rig.kernel.text(), rig.kernel.rules("nat", "PREROUTING").empty());
    rig.kernel.before_restore = {};
    ok(rig.retire({}));  // the swap is rolled back
    CPPUNIT_ASSERT_MESSAGE(rig.kernel.text(), !rig.kernel.has("nat", "KUBE-SERVICES"));
  }

  // The word of the last call is read by no other one.
  void verification_is_not_cancelled() {
    IptablesRig rig;
    ok(rig.full(many_services(2, 2)));
    rig.cancelled = 1;
    rig.kernel.foreign("*nat\n:foreign - [0:0]\nCOMMIT\n");
    ok(rig.verify());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IptablesCancelledTest);

}  // namespace backend_cancelled_test
}  // namespace sluice::test

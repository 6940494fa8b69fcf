// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An apply() that is cancelled: it ends early, and the next full transaction completes it.
#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/ipvs/backend_rig.hpp"

namespace sluice::test {
namespace backend_cancelled_test {

class IpvsCancelledTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(IpvsCancelledTest);
  CPPUNIT_TEST(an_apply_ends_after_each_step_and_is_completed);
  CPPUNIT_TEST(virtual_servers_are_written_one_by_one);
  CPPUNIT_TEST_SUITE_END();

  void an_apply_ends_after_each_step_and_is_completed() {
    const auto services = many_services(40, 2);
    IpvsRig expected;
    ok(expected, expected.full(services));
    IpvsRig rig;
    // Before anything is read.
    rig.cancelled = 1;
    expect_cancelled(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.servers.held.empty());
    // After virtual servers are written: no address is bound, so no packet reaches them.
    rig.cancelled = 0;
    rig.servers.meddle = [&](const ipvs::ServerCommand&) { rig.cancelled = 1; };
    expect_cancelled(rig, rig.full(services));
    CPPUNIT_ASSERT(!rig.servers.held.empty());
    CPPUNIT_ASSERT(rig.delta({services[0]}) == abi::Code::kNeedFull);
    rig.servers.meddle = {};
    // While the next process reads virtual servers back.
    rig.restart();
    rig.cancelled = 0;
    rig.servers.spoil_servers = [&](std::vector<ipvs::VirtualServerState>&) { rig.cancelled = 1; };
    const std::uint64_t dumps = rig.servers.real_dumps;
    expect_cancelled(rig, rig.full(services));
    CPPUNIT_ASSERT_EQUAL(dumps, rig.servers.real_dumps);
    rig.servers.spoil_servers = {};
    rig.cancelled = 0;
    ok(rig, rig.full(services));
    ok(rig, rig.verify());
    CPPUNIT_ASSERT_EQUAL(expected.servers.held.size(), rig.servers.held.size());
    CPPUNIT_ASSERT_EQUAL(expected.rules.text(), rig.rules.text());
  }

  void virtual_servers_are_written_one_by_one() {
    IpvsRig rig;
    auto services = many_services(40, 2);
    for (ServiceSpec& one : services) one.affinity_seconds = 30;
    rig.servers.schedulers = {};  // each virtual server is tried alone, as its module may load
    rig.servers.meddle = [&](const ipvs::ServerCommand&) { rig.cancelled = 1; };
    expect_cancelled(rig, rig.full(services));
    CPPUNIT_ASSERT(rig.servers.log.size() < 10);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(IpvsCancelledTest);

}  // namespace backend_cancelled_test
}  // namespace sluice::test

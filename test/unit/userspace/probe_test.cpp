// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the probe of client addresses says if a capability is missing. Capabilities are those of a thread.
#include "plugins/userspace/probe.hpp"

#include <cppunit/extensions/HelperMacros.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "test/unit/skip.hpp"

namespace sluice::userspace {
namespace probe_test {

// The problem on a thread without this capability.
ClientAddressProblem problem_without(unsigned capability, abi::Family family) {
  ClientAddressProblem problem;
  std::thread([&] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    syscall(SYS_capget, &header, sets.data());
    sets[capability / 32].effective &= ~(1U << (capability % 32));
    syscall(SYS_capset, &header, sets.data());
    problem = client_address_problem(family);
  }).join();
  return problem;
}

class ProbeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProbeTest);
  CPPUNIT_TEST(without_net_admin_it_is_named);
  CPPUNIT_TEST(without_net_raw_it_is_named);
  CPPUNIT_TEST_SUITE_END();

  static constexpr std::array kFamilies{abi::Family::kIpv4, abi::Family::kIpv6};

  static void expect_named(const std::string& capability, const ClientAddressProblem& problem) {
    CPPUNIT_ASSERT_EQUAL(capability, std::string(problem.missing));
    CPPUNIT_ASSERT_MESSAGE(problem.sentence, problem.sentence.find(capability) != std::string::npos);
  }

  void without_net_admin_it_is_named() {
    for (const abi::Family family : kFamilies) expect_named("CAP_NET_ADMIN", problem_without(CAP_NET_ADMIN, family));
  }

  void without_net_raw_it_is_named() {
    for (const abi::Family family : kFamilies) {
      const ClientAddressProblem problem = client_address_problem(family);
      if (!problem.missing.empty()) return test::skip(problem.sentence);
      expect_named("CAP_NET_RAW", problem_without(CAP_NET_RAW, family));
    }
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProbeTest);

}  // namespace probe_test
}  // namespace sluice::userspace

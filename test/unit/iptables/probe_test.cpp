// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/probe.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/sdk/error.hpp"
#include "test/unit/common/fake_kernel.hpp"

namespace sluice::netfilter {
namespace probe_test {

constexpr std::string_view kLocked =
    "Can't lock /run/xtables.lock: Resource temporarily unavailable\nAnother app is currently holding the xtables "
    "lock.";

// A kernel whose try_restore() calls a function.
class TryingKernel final : public Kernel {
 public:
  explicit TryingKernel(std::function<lib::ProgramResult(std::string_view)> answer) : answer_(std::move(answer)) {}

  const Tools& tools() override { return fake_.tools(); }
  lib::ProgramResult save(const SaveOptions&, const std::function<void(std::string_view)>&) override { return {}; }
  Restored restore(std::string_view input) override { return fake_.restore(input); }
  lib::ProgramResult try_restore(std::string_view input) override {
    ++tries;
    return answer_(input);
  }
  std::optional<std::uint32_t> generation() override { return {}; }
  ForeignChanges& foreign_changes() override { return fake_.foreign_changes(); }
  std::set<abi::Address> local_addresses() override { return {}; }
  int allow_localnet_routing() override { return 0; }
  int ensure_counter(const std::string&) override { return 0; }
  std::optional<std::uint64_t> counted_packets(const std::string&) override { return {}; }

  int tries = 0;

 private:
  std::function<lib::ProgramResult(std::string_view)> answer_;
  test::FakeKernel fake_;
};

lib::ProgramResult ended(int status, std::string_view error_output = {}) {
  lib::ProgramResult outcome;
  outcome.exit_code = status;
  outcome.error_output = error_output;
  return outcome;
}

const std::vector<Need> kNeeds = {{"MATCH_A", Table::kNat, "-m a"}, {"MATCH_B", Table::kFilter, "-m b"}};

sdk::Failure failure(TryingKernel& kernel) {
  try {
    probe_needs(kernel, kNeeds);
  } catch (const sdk::Failure& caught) {
    return caught;
  }
  CPPUNIT_FAIL("the probe went well");
  throw;  // not reached
}

class ProbeTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProbeTest);
  CPPUNIT_TEST(reports_exactly_the_missing_options);
  CPPUNIT_TEST(short_lock_wait_is_not_a_failure);
  CPPUNIT_TEST(lock_timeout_is_reported);
  CPPUNIT_TEST(held_lock_is_not_a_missing_option);
  CPPUNIT_TEST(missing_privilege_is_not_a_missing_option);
  CPPUNIT_TEST_SUITE_END();

 private:
  void reports_exactly_the_missing_options() {
    TryingKernel kernel([](std::string_view input) {
      return input.find("-m b") == input.npos ? ended(0) : ended(4, "RULE_APPEND failed: No such file or directory");
    });
    const std::string said = failure(kernel).what();
    CPPUNIT_ASSERT_MESSAGE(said, said.find("need MATCH_B:") != said.npos);
    CPPUNIT_ASSERT_MESSAGE(said, said.find("MATCH_A") == said.npos);
  }

  void short_lock_wait_is_not_a_failure() {
    TryingKernel kernel([&](std::string_view) { return kernel.tries == 1 ? ended(4, kLocked) : ended(0); });
    probe_needs(kernel, kNeeds);
    CPPUNIT_ASSERT_EQUAL(2, kernel.tries);
  }

  void lock_timeout_is_reported() {
    TryingKernel kernel([](std::string_view) { return ended(4, kLocked); });
    const sdk::Failure caught = failure(kernel);
    const std::string said = caught.what();
    CPPUNIT_ASSERT_MESSAGE(said, said.find("xtables lock") != said.npos);
    CPPUNIT_ASSERT_MESSAGE(said, said.find("MATCH_") == said.npos);
    CPPUNIT_ASSERT(caught.code() == abi::Code::kRetry);
    CPPUNIT_ASSERT_MESSAGE("patience has an end", kernel.tries < 5);
  }

  void held_lock_is_not_a_missing_option() {
    TryingKernel kernel([&](std::string_view input) {
      if (kernel.tries == 2) return ended(4, kLocked);
      return input.find("-m b") == input.npos ? ended(0) : ended(2, "Couldn't load match `b'");
    });
    const std::string said = failure(kernel).what();
    CPPUNIT_ASSERT_MESSAGE(said, said.find("need MATCH_B:") != said.npos);
    CPPUNIT_ASSERT_MESSAGE(said, said.find("MATCH_A") == said.npos);
  }

  void missing_privilege_is_not_a_missing_option() {
    TryingKernel kernel([](std::string_view) {
      return ended(4, "Could not fetch rule set generation id: Permission denied (you must be root)");
    });
    const sdk::Failure caught = failure(kernel);
    CPPUNIT_ASSERT(caught.code() == abi::Code::kDenied);
    CPPUNIT_ASSERT(std::string(caught.what()).find("MATCH_") == std::string::npos);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProbeTest);

}  // namespace probe_test
}  // namespace sluice::netfilter

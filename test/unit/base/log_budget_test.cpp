// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/log_budget.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <optional>
#include <string>

#include "core/base/log_messages.hpp"
#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::base {
namespace log_budget_test {

using namespace std::chrono_literals;

class LogBudgetTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LogBudgetTest);
  CPPUNIT_TEST(a_burst_is_written_then_one_in_each_pause);
  CPPUNIT_TEST(after_a_quiet_time_there_is_a_burst_again);
  CPPUNIT_TEST(a_long_line_is_truncated);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override { log_.emplace(); }
  void tearDown() override { log_.reset(); }

 private:
  test::FakeClock clock_;
  LogBudget budget_{clock_};
  std::optional<test::CapturedLog> log_;

  void write(int count, const std::string& text = "line") {
    for (int i = 0; i < count; ++i) budget_.log(message::kObjectProblem, text);
  }
  std::size_t lines() const { return log_->lines().size(); }
  std::string last() const { return log_->lines().back(); }

  void a_burst_is_written_then_one_in_each_pause() {
    write(LogBudget::kBurst + 7);
    CPPUNIT_ASSERT_EQUAL(std::size_t(LogBudget::kBurst), lines());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube line"), last());
    clock_.advance(LogBudget::kPause);
    write(3);
    CPPUNIT_ASSERT_EQUAL(std::size_t(LogBudget::kBurst + 1), lines());
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube line (7 similar lines before this one were suppressed)"),
                         last());
    clock_.advance(LogBudget::kPause);
    write(1);
    CPPUNIT_ASSERT_EQUAL(std::string("WARN sluice.kube line (2 similar lines before this one were suppressed)"),
                         last());
  }

  void after_a_quiet_time_there_is_a_burst_again() {
    write(LogBudget::kBurst);
    clock_.advance(LogBudget::kBurst * LogBudget::kPause);
    write(2 * LogBudget::kBurst);
    CPPUNIT_ASSERT_EQUAL(std::size_t(2 * LogBudget::kBurst), lines());
  }

  void a_long_line_is_truncated() {
    write(1, std::string(100'000, 'x'));
    CPPUNIT_ASSERT_EQUAL("WARN sluice.kube " + std::string(LogBudget::kLongestLine, 'x') + "...", last());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LogBudgetTest);

}  // namespace log_budget_test
}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/watch/object_problems.hpp"

#include <cppunit/extensions/HelperMacros.h>

#include <optional>
#include <string>
#include <vector>

#include "test/unit/plugin/captured_log.hpp"
#include "test/unit/sync/fake_clock.hpp"

namespace sluice::kube {
namespace object_problems_test {

class ObjectProblemsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ObjectProblemsTest);
  CPPUNIT_TEST(a_problem_is_logged_when_it_appears_or_changes);
  CPPUNIT_TEST(excess_notes_are_only_counted);
  CPPUNIT_TEST_SUITE_END();

 public:
  void setUp() override { log_.emplace(); }
  void tearDown() override { log_.reset(); }

 private:
  test::FakeClock clock_;
  std::optional<test::CapturedLog> log_;
  ObjectProblems problems_{"Service", base::LogBudget(clock_)};
  const model::ObjectName name_{base::Symbol("shop"), "cart"};

  void a_problem_is_logged_when_it_appears_or_changes() {
    problems_.report(name_, "", {"spec.x: one"});
    problems_.report(name_, "", {"spec.x: one"});
    problems_.report(name_, "", {"spec.x: two"});
    problems_.report(name_, "", {});
    problems_.report(name_, "", {"spec.x: two"});
    CPPUNIT_ASSERT((log_->lines() == std::vector<std::string>{"WARN sluice.kube Service shop/cart: spec.x: one",
                                                              "WARN sluice.kube Service shop/cart: spec.x: two",
                                                              "WARN sluice.kube Service shop/cart: spec.x: two"}));
  }

  void excess_notes_are_only_counted() {
    const std::string note(100, 'x');
    problems_.report(name_, "", std::vector<std::string>(1000, note));
    std::string wanted = "WARN sluice.kube Service shop/cart: " + note;
    for (int i = 1; i < 6; ++i) wanted += "; " + note;
    CPPUNIT_ASSERT_EQUAL(std::size_t(1), log_->lines().size());
    CPPUNIT_ASSERT_EQUAL(wanted + "; and 994 more", log_->lines()[0]);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ObjectProblemsTest);

}  // namespace object_problems_test
}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/reload_check.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

namespace sluice::app {
namespace {

class ReloadCheckTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ReloadCheckTest);
  CPPUNIT_TEST(the_same_configuration_is_said_to_be_unchanged);
  CPPUNIT_TEST(a_different_one_needs_a_restart);
  CPPUNIT_TEST(one_with_errors_is_unusable);
  CPPUNIT_TEST(a_warning_is_no_error);
  CPPUNIT_TEST_SUITE_END();

  Settings running_;
  ReloadVerdict verdict(const Settings& found, bool warning = false, bool error = false) const {
    return check_reload(running_, [&](Problems& problems) {
      if (warning) problems.warning("file:1: field", "is odd");
      if (error) problems.error("file:1: field", "is wrong");
      return found;
    });
  }

 public:
  void the_same_configuration_is_said_to_be_unchanged() {
    CPPUNIT_ASSERT(verdict(running_) == ReloadVerdict::unchanged);
  }
  void a_different_one_needs_a_restart() {
    Settings other = running_;
    other.masquerade_all = true;
    CPPUNIT_ASSERT(verdict(other) == ReloadVerdict::needs_restart);
  }
  void one_with_errors_is_unusable() {
    CPPUNIT_ASSERT(verdict(running_, false, true) == ReloadVerdict::unusable);
  }
  void a_warning_is_no_error() { CPPUNIT_ASSERT(verdict(running_, true) == ReloadVerdict::unchanged); }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ReloadCheckTest);

}  // namespace
}  // namespace sluice::app

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/sysctl.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <string>

#include "test/unit/temporary_folder.hpp"

namespace sluice::lib {
namespace sysctl_test {

class SysctlTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(SysctlTest);
  CPPUNIT_TEST(sysctls_are_read_without_the_newline);
  CPPUNIT_TEST(sysctls_are_written_only_when_different);
  CPPUNIT_TEST(missing_sysctl_is_reported_with_its_path);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder proc_;

 public:
  void sysctls_are_read_without_the_newline() {
    proc_.write("net/a/b", "1\t2\n");
    CPPUNIT_ASSERT_EQUAL(std::string("1\t2"), *Sysctl(proc_.path()).read("net/a/b"));
  }

  void sysctls_are_written_only_when_different() {
    const Sysctl sysctl(proc_.path());
    proc_.write("net/a", "0\n");
    CPPUNIT_ASSERT(sysctl.ensure("net/a", "1").ok());
    CPPUNIT_ASSERT_EQUAL(std::string("1"), proc_.read("net/a"));
    // An equal value is not written, so the newline is kept.
    proc_.write("net/b", "1\n");
    CPPUNIT_ASSERT(sysctl.ensure("net/b", "1").ok());
    CPPUNIT_ASSERT_EQUAL(std::string("1\n"), proc_.read("net/b"));
  }

  void missing_sysctl_is_reported_with_its_path() {
    const Sysctl sysctl(proc_.path());
    CPPUNIT_ASSERT(sysctl.read("net/none").status().code() == StatusCode::not_found);
    CPPUNIT_ASSERT(sysctl.ensure("net/none", "1").message().find(proc_.path("net/none")) != std::string::npos);
    // A folder can be opened, but reading it fails.
    proc_.write("net/x/y", "");
    CPPUNIT_ASSERT(!sysctl.ensure("net/x", "1").ok());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(SysctlTest);

}  // namespace sysctl_test
}  // namespace sluice::lib

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/xtables_lock.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>

namespace sluice::netfilter {
namespace xtables_lock_test {

using std::chrono::milliseconds;

class LockTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LockTest);
  CPPUNIT_TEST(lock_is_exclusive);
  CPPUNIT_TEST(abstract_socket_is_locked_too);
  CPPUNIT_TEST(reports_the_waiting_time);
  CPPUNIT_TEST(impossible_lock_file_is_an_error);
  CPPUNIT_TEST(lock_file_follows_the_environment);
  CPPUNIT_TEST_SUITE_END();

  std::string file_;

 public:
  void setUp() override {
    char name[] = "/tmp/sluice-lock-XXXXXX";
    const int made = mkstemp(name);
    CPPUNIT_ASSERT(made >= 0);
    close(made);
    file_ = name;
  }
  void tearDown() override { unlink(file_.c_str()); }

 private:
  static bool take(XtablesLock& lock) { return lock.acquire(milliseconds(0), milliseconds(1)); }

  void lock_is_exclusive() {
    XtablesLock first({file_, {}});
    XtablesLock second({file_, {}});
    CPPUNIT_ASSERT(take(first));
    CPPUNIT_ASSERT(!take(second));
    first.release();
    CPPUNIT_ASSERT(take(second));
  }

  void abstract_socket_is_locked_too() {
    const std::string socket = "sluice-test-" + std::to_string(getpid());
    XtablesLock old({file_ + ".other", socket});
    XtablesLock ours({file_, socket});
    XtablesLock modern({file_, {}});
    CPPUNIT_ASSERT(take(old));
    CPPUNIT_ASSERT(!take(ours));
    CPPUNIT_ASSERT(take(modern));  // a failed acquire() releases the file lock
    modern.release();
    old.release();
    CPPUNIT_ASSERT(take(ours));
    unlink((file_ + ".other").c_str());
  }

  void reports_the_waiting_time() {
    XtablesLock first({file_, {}});
    XtablesLock second({file_, {}});
    CPPUNIT_ASSERT(take(first));
    CPPUNIT_ASSERT_EQUAL(milliseconds(0).count(), first.waited().count());
    CPPUNIT_ASSERT(!second.acquire(milliseconds(30), milliseconds(10)));
    CPPUNIT_ASSERT(second.waited() >= milliseconds(30));
  }

  void impossible_lock_file_is_an_error() {
    XtablesLock lock({"/nowhere/at/all", {}});
    CPPUNIT_ASSERT_THROW(take(lock), std::system_error);
  }

  void lock_file_follows_the_environment() {
    unsetenv("XTABLES_LOCKFILE");
    CPPUNIT_ASSERT_EQUAL(std::string("/run/xtables.lock"), XtablesLock::default_place().file);
    CPPUNIT_ASSERT_EQUAL(std::string("xtables"), XtablesLock::default_place().socket);
    setenv("XTABLES_LOCKFILE", "/run/other", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("/run/other"), XtablesLock::default_place().file);
    unsetenv("XTABLES_LOCKFILE");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LockTest);

}  // namespace xtables_lock_test
}  // namespace sluice::netfilter

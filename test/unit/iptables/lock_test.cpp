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
namespace lock_test {

using std::chrono::milliseconds;

class LockTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(LockTest);
  CPPUNIT_TEST(one_at_a_time_holds_it);
  CPPUNIT_TEST(the_socket_counts_as_well);
  CPPUNIT_TEST(says_how_long_it_waited);
  CPPUNIT_TEST(no_place_for_a_lock_is_an_error);
  CPPUNIT_TEST(the_place_follows_the_environment);
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

  void one_at_a_time_holds_it() {
    XtablesLock first({file_, {}});
    XtablesLock second({file_, {}});
    CPPUNIT_ASSERT(take(first));
    CPPUNIT_ASSERT(!take(second));
    first.release();
    CPPUNIT_ASSERT(take(second));
  }

  void the_socket_counts_as_well() {
    const std::string socket = "sluice-test-" + std::to_string(getpid());
    XtablesLock old({file_ + ".other", socket});
    XtablesLock ours({file_, socket});
    XtablesLock modern({file_, {}});
    CPPUNIT_ASSERT(take(old));
    CPPUNIT_ASSERT(!take(ours));
    CPPUNIT_ASSERT(take(modern));  // what could not be had in full is not held in part
    modern.release();
    old.release();
    CPPUNIT_ASSERT(take(ours));
    unlink((file_ + ".other").c_str());
  }

  void says_how_long_it_waited() {
    XtablesLock first({file_, {}});
    XtablesLock second({file_, {}});
    CPPUNIT_ASSERT(take(first));
    CPPUNIT_ASSERT_EQUAL(milliseconds(0).count(), first.waited().count());
    CPPUNIT_ASSERT(!second.acquire(milliseconds(30), milliseconds(10)));
    CPPUNIT_ASSERT(second.waited() >= milliseconds(30));
  }

  void no_place_for_a_lock_is_an_error() {
    XtablesLock lock({"/nowhere/at/all", {}});
    CPPUNIT_ASSERT_THROW(take(lock), std::system_error);
  }

  void the_place_follows_the_environment() {
    unsetenv("XTABLES_LOCKFILE");
    CPPUNIT_ASSERT_EQUAL(std::string("/run/xtables.lock"), XtablesLock::usual_place().file);
    CPPUNIT_ASSERT_EQUAL(std::string("xtables"), XtablesLock::usual_place().socket);
    setenv("XTABLES_LOCKFILE", "/run/other", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("/run/other"), XtablesLock::usual_place().file);
    unsetenv("XTABLES_LOCKFILE");
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(LockTest);

}  // namespace lock_test
}  // namespace sluice::netfilter

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/wake_up.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "test/unit/patience.hpp"

namespace sluice::lib {
namespace wake_up_test {

bool readable(const WakeUp& wake_up, int timeout = 0) {
  pollfd wait{wake_up.descriptor(), POLLIN, 0};
  return ::poll(&wait, 1, timeout) == 1 && wait.revents == POLLIN;
}

class WakeUpTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(WakeUpTest);
  CPPUNIT_TEST(a_signal_lasts_until_it_is_drained);
  CPPUNIT_TEST(many_signals_are_drained_at_once);
  CPPUNIT_TEST(a_signal_ends_the_poll_of_another_thread);
  CPPUNIT_TEST(open_discards_old_signals);
  CPPUNIT_TEST(the_descriptor_is_closed_on_exec_and_does_not_block);
  CPPUNIT_TEST(open_returns_why_it_failed);
  CPPUNIT_TEST_SUITE_END();

  static WakeUp opened() {
    WakeUp out;
    CPPUNIT_ASSERT_EQUAL(0, out.open());
    return out;
  }

  void a_signal_lasts_until_it_is_drained() {
    const WakeUp wake_up = opened();
    CPPUNIT_ASSERT(!readable(wake_up));
    wake_up.signal();
    CPPUNIT_ASSERT(readable(wake_up));
    CPPUNIT_ASSERT(readable(wake_up));
    CPPUNIT_ASSERT(wake_up.drain());
    CPPUNIT_ASSERT(!readable(wake_up));
  }

  void many_signals_are_drained_at_once() {
    const WakeUp wake_up = opened();
    for (int i = 0; i < 3; ++i) wake_up.signal();
    CPPUNIT_ASSERT(wake_up.drain());
    CPPUNIT_ASSERT(!wake_up.drain());
    CPPUNIT_ASSERT(!readable(wake_up));
  }

  void a_signal_ends_the_poll_of_another_thread() {
    const WakeUp wake_up = opened();
    bool woken = false;
    std::thread waiting([&] { woken = readable(wake_up, test::stretched_milliseconds(std::chrono::seconds(10))); });
    wake_up.signal();
    waiting.join();
    CPPUNIT_ASSERT(woken);
  }

  void open_discards_old_signals() {
    WakeUp wake_up = opened();
    wake_up.signal();
    CPPUNIT_ASSERT_EQUAL(0, wake_up.open());
    CPPUNIT_ASSERT(!readable(wake_up));
    // Of a stopped thread: nothing is left open.
    wake_up = WakeUp();
    CPPUNIT_ASSERT(!wake_up.valid());
    CPPUNIT_ASSERT_EQUAL(-1, wake_up.descriptor());
  }

  void the_descriptor_is_closed_on_exec_and_does_not_block() {
    const WakeUp wake_up = opened();
    CPPUNIT_ASSERT_EQUAL(FD_CLOEXEC, ::fcntl(wake_up.descriptor(), F_GETFD));
    CPPUNIT_ASSERT((::fcntl(wake_up.descriptor(), F_GETFL) & O_NONBLOCK) != 0);
  }

  void open_returns_why_it_failed() {
    rlimit before{};
    CPPUNIT_ASSERT_EQUAL(0, ::getrlimit(RLIMIT_NOFILE, &before));
    rlimit none = before;
    none.rlim_cur = 0;
    CPPUNIT_ASSERT_EQUAL(0, ::setrlimit(RLIMIT_NOFILE, &none));
    WakeUp wake_up;
    const int failure = wake_up.open();
    ::setrlimit(RLIMIT_NOFILE, &before);
    CPPUNIT_ASSERT_EQUAL(EMFILE, failure);
    CPPUNIT_ASSERT(!wake_up.valid());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(WakeUpTest);

}  // namespace wake_up_test
}  // namespace sluice::lib

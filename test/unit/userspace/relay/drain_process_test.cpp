// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/drain_process.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <new>

#include "lib/fd.hpp"
#include "test/unit/patience.hpp"

namespace sluice::userspace {
namespace drain_process_test {

using namespace std::chrono_literals;

struct Pair {
  Pair() {
    int ends[2];
    CPPUNIT_ASSERT_EQUAL(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    near = lib::Fd(ends[0]);
    far = lib::Fd(ends[1]);
    const auto limit = std::chrono::ceil<std::chrono::seconds>(test::stretched(20s));
    const timeval time{static_cast<time_t>(limit.count()), 0};
    ::setsockopt(near.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }
  // The next byte; '-' at the end.
  char receive() const {
    char byte = '?';
    return ::recv(near.get(), &byte, 1, 0) == 0 ? '-' : byte;
  }
  lib::Fd near;
  lib::Fd far;
};

class DrainProcessTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(DrainProcessTest);
  CPPUNIT_TEST(process_1_and_a_service_of_systemd_cannot_be_outlived);
  CPPUNIT_TEST(the_work_continues_until_it_is_done);
  CPPUNIT_TEST(the_work_ends_at_the_timeout);
  CPPUNIT_TEST(an_exception_ends_only_the_new_process);
  CPPUNIT_TEST_SUITE_END();

 public:
  void process_1_and_a_service_of_systemd_cannot_be_outlived() {
    CPPUNIT_ASSERT(can_be_outlived(2, "0::/user.slice/user-0.slice/session-1.scope\n"));
    CPPUNIT_ASSERT(can_be_outlived(2, ""));
    CPPUNIT_ASSERT(!can_be_outlived(1, "0::/\n"));
    CPPUNIT_ASSERT(!can_be_outlived(2, "0::/system.slice/sluiced.service\n"));
    CPPUNIT_ASSERT(!can_be_outlived(2, "4:memory:/\n1:name=systemd:/system.slice/sluiced.service\n0::/\n"));
  }

  void the_work_continues_until_it_is_done() {
    Pair kept, other;
    int polls = 0;
    DrainWork work{{kept.far.get()},
                   [&] { ::send(kept.far.get(), "s", 1, 0); },
                   [&] {
                     ::send(kept.far.get(), "p", 1, 0);
                     return ++polls == 3;
                   },
                   1h};
    CPPUNIT_ASSERT(drain_in_new_process(work));
    kept.far.reset();
    other.far.reset();
    CPPUNIT_ASSERT_EQUAL('-', other.receive());  // the new process does not have it
    for (const char expected : {'s', 'p', 'p', 'p', '-'}) CPPUNIT_ASSERT_EQUAL(expected, kept.receive());
    CPPUNIT_ASSERT_EQUAL(0, polls);
  }

  void the_work_ends_at_the_timeout() {
    Pair kept;
    CPPUNIT_ASSERT(drain_in_new_process({{kept.far.get()}, [] {}, [] { return false; }, 10ms}));
    kept.far.reset();
    CPPUNIT_ASSERT_EQUAL('-', kept.receive());
  }

  void an_exception_ends_only_the_new_process() {
    Pair kept;
    CPPUNIT_ASSERT(drain_in_new_process({{kept.far.get()}, [] { throw std::bad_alloc(); }, [] { return false; }, 1h}));
    kept.far.reset();
    CPPUNIT_ASSERT_EQUAL('-', kept.receive());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DrainProcessTest);

}  // namespace drain_process_test
}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/drain_process.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <new>
#include <thread>

#include "lib/fd.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/skip.hpp"

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
  CPPUNIT_TEST(process_1_services_and_containers_cannot_be_outlived);
  CPPUNIT_TEST(the_work_continues_until_it_is_done);
  CPPUNIT_TEST(the_work_ends_at_the_timeout);
  CPPUNIT_TEST(an_exception_ends_only_the_new_process);
  CPPUNIT_TEST(processes_of_earlier_daemons_are_found_and_ended);
  CPPUNIT_TEST_SUITE_END();

 public:
  void process_1_services_and_containers_cannot_be_outlived() {
    CPPUNIT_ASSERT(can_be_outlived({2, "0::/user.slice/user-0.slice/session-1.scope\n", "0::/init.scope\n", {}}));
    CPPUNIT_ASSERT(can_be_outlived({2, "0::/\n", "0::/\n", {}}));
    CPPUNIT_ASSERT(can_be_outlived({2, "", "", {}}));
    CPPUNIT_ASSERT(can_be_outlived({2, "4:memory:/docker/1\n", "4:memory:/docker/1\n", {}}));  // not process 1
    CPPUNIT_ASSERT(!can_be_outlived({1, "0::/\n", "0::/\n", {}}));
    CPPUNIT_ASSERT(!can_be_outlived({2, "0::/system.slice/sluiced.service\n", "0::/init.scope\n", {}}));
    CPPUNIT_ASSERT(!can_be_outlived({2, "4:memory:/\n1:name=systemd:/system.slice/sluiced.service\n0::/\n", "", {}}));
    using namespace std::string_view_literals;
    CPPUNIT_ASSERT(can_be_outlived({2, "0::/\n", "0::/\n", "HOME=/\0NOT_NOTIFY_SOCKET=/a\0"sv}));
    CPPUNIT_ASSERT(!can_be_outlived({2, "0::/\n", "0::/\n", "HOME=/\0NOTIFY_SOCKET=/a\0"sv}));
    // Containers that share the process IDs of the node, with and without a cgroup namespace.
    CPPUNIT_ASSERT(!can_be_outlived({2, "0::/\n", "0::/../../../init.scope\n", {}}));
    CPPUNIT_ASSERT(!can_be_outlived({2, "0::/kubepods.slice/kubepods-pod1.slice/a.scope\n", "0::/init.scope\n", {}}));
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

  void processes_of_earlier_daemons_are_found_and_ended() {
    Pair first, second, elsewhere;
    const auto start = [](Pair& pair) {
      const auto near_is_closed = [&pair] {
        char byte = 0;
        return ::recv(pair.far.get(), &byte, 1, MSG_DONTWAIT) == 0;
      };
      CPPUNIT_ASSERT(drain_in_new_process({{pair.far.get()}, [] {}, near_is_closed, 1h}));
      pair.far.reset();
    };
    start(elsewhere);
    std::size_t ended = 0;
    bool separate = false;
    std::thread([&] {
      separate = ::unshare(CLONE_NEWNET) == 0;
      if (!separate) return;
      for (Pair* const pair : {&first, &second}) start(*pair);
      ended = end_drain_processes();
    }).join();
    if (!separate) return test::skip("a network namespace of its own needs root");
    CPPUNIT_ASSERT_EQUAL(std::size_t(2), ended);
    CPPUNIT_ASSERT_EQUAL('-', first.receive());
    CPPUNIT_ASSERT_EQUAL('-', second.receive());
    char byte = 0;
    CPPUNIT_ASSERT_EQUAL(ssize_t(-1), ::recv(elsewhere.near.get(), &byte, 1, MSG_DONTWAIT));  // it runs
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(DrainProcessTest);

}  // namespace drain_process_test
}  // namespace sluice::userspace

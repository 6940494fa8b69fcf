// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/event_loop.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cppunit/extensions/HelperMacros.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::userspace {
namespace event_loop_test {

constexpr Nanoseconds kMillisecond = 1'000'000;

struct Alarm final : Timer {
  explicit Alarm(std::function<void()> given) : what(std::move(given)) {}
  void on_timer() noexcept override { what(); }
  std::function<void()> what;
};

struct Reader final : EventHandler {
  explicit Reader(std::function<void(std::uint32_t)> given) : what(std::move(given)) {}
  void on_events(std::uint32_t events) noexcept override { what(events); }
  std::function<void(std::uint32_t)> what;
};

struct Pair {
  Pair() {
    int fds[2];
    CPPUNIT_ASSERT_EQUAL(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
    here = lib::Fd(fds[0]);
    there = lib::Fd(fds[1]);
  }
  lib::Fd here, there;
};

struct Object final : Retired {
  explicit Object(bool& given) : gone_(given) {}
  ~Object() override { gone_ = true; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

 private:
  bool& gone_;
};

class EventLoopTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(EventLoopTest);
  CPPUNIT_TEST(timers_fire_in_order_and_once);
  CPPUNIT_TEST(a_disarmed_timer_is_silent);
  CPPUNIT_TEST(posted_work_runs_in_order_on_the_loop_thread);
  CPPUNIT_TEST(events_reach_their_handler);
  CPPUNIT_TEST(a_retired_object_outlives_the_batch);
  CPPUNIT_TEST(events_of_a_closed_duplicated_descriptor_are_dropped);
  CPPUNIT_TEST(a_handler_receives_events_of_its_last_descriptor_only);
  CPPUNIT_TEST_SUITE_END();

  EventLoop loop_;

  void timers_fire_in_order_and_once() {
    std::string fired;
    Alarm end([&] { loop_.stop(); });
    Alarm b([&] { fired += "b"; });
    Alarm a([&] { fired += "a"; });
    const Nanoseconds now = EventLoop::clock();
    loop_.arm(end, now + 30 * kMillisecond);
    loop_.arm(b, now + 20 * kMillisecond);
    loop_.arm(a, now + 5 * kMillisecond);
    loop_.arm(a, now + 10 * kMillisecond);
    loop_.run();
    CPPUNIT_ASSERT_EQUAL(std::string("ab"), fired);
    CPPUNIT_ASSERT(EventLoop::clock() >= now + 30 * kMillisecond);
  }

  void a_disarmed_timer_is_silent() {
    bool fired = false;
    Alarm never([&] { fired = true; });
    Alarm end([&] { loop_.stop(); });
    const Nanoseconds now = EventLoop::clock();
    loop_.arm(never, now + kMillisecond);
    loop_.arm(end, now + 5 * kMillisecond);
    never.disarm();
    CPPUNIT_ASSERT(!never.armed());
    loop_.run();
    CPPUNIT_ASSERT(!fired);
  }

  void posted_work_runs_in_order_on_the_loop_thread() {
    std::string order;
    std::thread::id where;
    std::thread thread([&] { loop_.run(); });
    for (const char letter : {'a', 'b', 'c'}) {
      loop_.post([&, letter] {
        order += letter;
        where = std::this_thread::get_id();
      });
    }
    const std::thread::id expected = thread.get_id();
    loop_.stop();
    thread.join();
    CPPUNIT_ASSERT_EQUAL(std::string("abc"), order);
    CPPUNIT_ASSERT(expected == where);
  }

  void events_reach_their_handler() {
    Pair pair;
    std::uint32_t received = 0;
    Reader reader([&](std::uint32_t events) {
      received = events;
      loop_.stop();
    });
    CPPUNIT_ASSERT_EQUAL(0, loop_.add(pair.here.get(), EPOLLIN | EPOLLRDHUP | EPOLLET, &reader));
    CPPUNIT_ASSERT_EQUAL(EEXIST, loop_.add(pair.here.get(), EPOLLIN, &reader));
    CPPUNIT_ASSERT_EQUAL(ssize_t{1}, write(pair.there.get(), "x", 1));
    loop_.run();
    CPPUNIT_ASSERT((received & EPOLLIN) != 0);
  }

  void run_briefly() {
    Alarm end([&] { loop_.stop(); });
    loop_.arm(end, EventLoop::clock() + 20 * kMillisecond);
    loop_.run();
  }

  // Between fork() and exec() a child has a copy of every descriptor, as dup() makes one here: then close() does not
  // remove the descriptor from epoll.
  void events_of_a_closed_duplicated_descriptor_are_dropped() {
    Pair pair;
    bool called = false;
    auto reader = std::make_unique<Reader>([&](std::uint32_t) { called = true; });
    CPPUNIT_ASSERT_EQUAL(0, loop_.add(pair.here.get(), EPOLLIN | EPOLLET, reader.get()));
    const lib::Fd copy(dup(pair.here.get()));
    pair.here.reset();
    reader.reset();
    // May have the memory address of the old handler.
    auto another = std::make_unique<Reader>([&](std::uint32_t) { called = true; });
    Pair other;
    CPPUNIT_ASSERT_EQUAL(0, loop_.add(other.here.get(), EPOLLIN | EPOLLET, another.get()));
    CPPUNIT_ASSERT_EQUAL(ssize_t{1}, write(pair.there.get(), "x", 1));
    run_briefly();
    CPPUNIT_ASSERT(!called);
  }

  void a_handler_receives_events_of_its_last_descriptor_only() {
    Pair first, second;
    int calls = 0;
    Reader reader([&](std::uint32_t) { ++calls; });
    CPPUNIT_ASSERT_EQUAL(0, loop_.add(first.here.get(), EPOLLIN | EPOLLET, &reader));
    const lib::Fd copy(dup(first.here.get()));
    first.here.reset();
    CPPUNIT_ASSERT_EQUAL(0, loop_.add(second.here.get(), EPOLLIN | EPOLLET, &reader));
    CPPUNIT_ASSERT_EQUAL(ssize_t{1}, write(first.there.get(), "x", 1));
    CPPUNIT_ASSERT_EQUAL(ssize_t{1}, write(second.there.get(), "x", 1));
    run_briefly();
    CPPUNIT_ASSERT_EQUAL(1, calls);
  }

  void a_retired_object_outlives_the_batch() {
    bool gone = false;
    bool gone_in_batch = false;
    Pair pair;
    Reader reader([&](std::uint32_t) {
      loop_.retire(std::make_unique<Object>(gone));
      loop_.post([&] { loop_.stop(); });
      gone_in_batch = gone;
      char byte = 0;
      CPPUNIT_ASSERT_EQUAL(ssize_t{1}, read(pair.here.get(), &byte, 1));
    });
    CPPUNIT_ASSERT_EQUAL(0, loop_.add(pair.here.get(), EPOLLIN, &reader));
    CPPUNIT_ASSERT_EQUAL(ssize_t{1}, write(pair.there.get(), "x", 1));
    loop_.run();
    CPPUNIT_ASSERT(!gone_in_batch);
    CPPUNIT_ASSERT(gone);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(EventLoopTest);

}  // namespace event_loop_test
}  // namespace sluice::userspace

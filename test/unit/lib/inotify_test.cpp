// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/inotify.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <errno.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "lib/wake_up.hpp"
#include "test/unit/patience.hpp"
#include "test/unit/temporary_folder.hpp"

namespace sluice::lib {
namespace inotify_test {

namespace fs = std::filesystem;

struct Noted {
  int watch;
  std::uint32_t mask;
  std::string name;
  bool operator==(const Noted&) const = default;
};

class InotifyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(InotifyTest);
  CPPUNIT_TEST(reads_the_events_of_a_folder);
  CPPUNIT_TEST(an_event_of_the_watched_folder_itself_has_no_name);
  CPPUNIT_TEST(reads_more_events_than_the_buffer_holds);
  CPPUNIT_TEST(returns_whether_an_event_concerns_the_caller);
  CPPUNIT_TEST(dropped_events_may_concern_the_caller);
  CPPUNIT_TEST(a_replaced_folder_has_another_watch);
  CPPUNIT_TEST(a_removed_watch_has_no_more_events);
  CPPUNIT_TEST(a_missing_path_is_an_errno);
  CPPUNIT_TEST(a_thread_reads_events_until_it_is_woken);
  CPPUNIT_TEST_SUITE_END();

  test::TemporaryFolder folder_;
  Inotify inotify_;

 public:
  void setUp() override { CPPUNIT_ASSERT_EQUAL(0, inotify_.open()); }

 private:
  int add(const std::string& name, std::uint32_t mask) const {
    const int watch = inotify_.add(folder_.path(name), mask);
    CPPUNIT_ASSERT(watch >= 0);
    return watch;
  }
  std::vector<Noted> drain() const {
    std::vector<Noted> out;
    inotify_.drain([&](const Inotify::Event& event) {
      out.push_back({event.watch, event.mask, std::string(event.name)});
      return false;
    });
    return out;
  }
  // Bytes of all pending events.
  int pending() const {
    int bytes = -1;
    CPPUNIT_ASSERT_EQUAL(0, ::ioctl(inotify_.descriptor(), FIONREAD, &bytes));
    return bytes;
  }

  void reads_the_events_of_a_folder() {
    const int watch = add("", IN_CREATE | IN_MOVED_TO | IN_DELETE);
    // Names with different padding: of two events that the kernel returns together, the second is found by the length
    // of the first.
    const std::string longer(100, 'n');
    folder_.write("a", "");
    folder_.write(longer, "");
    fs::rename(folder_.path(longer), folder_.path("b"));
    fs::remove(folder_.path("a"));
    const std::vector<Noted> expected{
        {watch, IN_CREATE, "a"}, {watch, IN_CREATE, longer}, {watch, IN_MOVED_TO, "b"}, {watch, IN_DELETE, "a"}};
    CPPUNIT_ASSERT(drain() == expected);
    CPPUNIT_ASSERT(drain().empty());
  }

  void an_event_of_the_watched_folder_itself_has_no_name() {
    fs::create_directory(folder_.path("in"));
    const int watch = add("in", IN_DELETE_SELF);
    fs::remove(folder_.path("in"));
    CPPUNIT_ASSERT((drain() == std::vector<Noted>{{watch, IN_DELETE_SELF, ""}, {watch, IN_IGNORED, ""}}));
  }

  void reads_more_events_than_the_buffer_holds() {
    const int watch = add("", IN_CREATE);
    std::vector<Noted> expected;
    for (int i = 0; i < 1000; ++i) {
      const std::string name = std::to_string(i) + std::string(30, 'n');
      folder_.write(name, "");
      expected.push_back({watch, IN_CREATE, name});
    }
    CPPUNIT_ASSERT(pending() > 32'768);
    CPPUNIT_ASSERT(drain() == expected);
  }

  void returns_whether_an_event_concerns_the_caller() {
    add("", IN_CREATE);
    const auto drained = [this](const std::string& name) {
      return inotify_.drain([&](const Inotify::Event& event) { return event.name == name; });
    };
    CPPUNIT_ASSERT(!drained("a"));
    folder_.write("a", "");
    folder_.write("b", "");
    CPPUNIT_ASSERT(drained("a"));  // although b does not
    folder_.write("c", "");
    CPPUNIT_ASSERT(!drained("a"));
  }

  void dropped_events_may_concern_the_caller() {
    folder_.write("a", "");
    const int watch = add("", IN_OPEN | IN_CLOSE_NOWRITE);
    // The queue is full when an event no longer makes it longer. Equal successive events count once, so these differ.
    for (int before = -1; before != pending();) {
      before = pending();
      folder_.read("a");
    }
    bool foreign = false;
    CPPUNIT_ASSERT(inotify_.drain([&](const Inotify::Event& event) {
      foreign = foreign || event.watch != watch || event.name != "a";
      return false;
    }));
    CPPUNIT_ASSERT_MESSAGE("the caller received the event of the overflow", !foreign);
    // The next events are reported as usual.
    CPPUNIT_ASSERT(!inotify_.drain([](const Inotify::Event&) { return false; }));
    folder_.write("b", "");
    CPPUNIT_ASSERT((drain() == std::vector<Noted>{{watch, IN_OPEN, "b"}}));
  }

  void a_replaced_folder_has_another_watch() {
    fs::create_directory(folder_.path("in"));
    const int watch = add("in", IN_CREATE);
    CPPUNIT_ASSERT_EQUAL(watch, add("in", IN_CREATE));
    fs::rename(folder_.path("in"), folder_.path("out"));
    fs::create_directory(folder_.path("in"));
    const int other = add("in", IN_CREATE);
    CPPUNIT_ASSERT(watch != other);
    folder_.write("in/a", "");
    folder_.write("out/b", "");
    CPPUNIT_ASSERT((drain() == std::vector<Noted>{{other, IN_CREATE, "a"}, {watch, IN_CREATE, "b"}}));
  }

  void a_removed_watch_has_no_more_events() {
    const int watch = add("", IN_CREATE);
    inotify_.remove(watch);
    folder_.write("a", "");
    CPPUNIT_ASSERT((drain() == std::vector<Noted>{{watch, IN_IGNORED, ""}}));
  }

  void a_missing_path_is_an_errno() {
    CPPUNIT_ASSERT_EQUAL(-ENOENT, inotify_.add(folder_.path("none"), IN_CREATE));
    CPPUNIT_ASSERT_EQUAL(-EBADF, Inotify().add(folder_.path(), IN_CREATE));
    CPPUNIT_ASSERT(!Inotify().drain([](const Inotify::Event&) { return true; }));
  }

  void a_thread_reads_events_until_it_is_woken() {
    add("", IN_CREATE);
    WakeUp stop;
    CPPUNIT_ASSERT_EQUAL(0, stop.open());
    std::atomic<bool> found = false;
    bool stopped = false;
    std::thread reader([&] {
      for (;;) {
        pollfd waits[] = {{stop.descriptor(), POLLIN, 0}, {inotify_.descriptor(), POLLIN, 0}};
        if (::poll(waits, 2, test::stretched_milliseconds(std::chrono::seconds(30))) <= 0) return;
        if (waits[1].revents != 0 && inotify_.drain([](const auto& event) { return event.name == "a"; })) found = true;
        stopped = waits[0].revents != 0;
        if (stopped) return;
      }
    });
    folder_.write("a", "");
    const bool in_time = test::wait_until([&] { return found.load(); });
    stop.signal();
    reader.join();
    CPPUNIT_ASSERT(in_time);
    CPPUNIT_ASSERT(stopped);
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(InotifyTest);

}  // namespace inotify_test
}  // namespace sluice::lib

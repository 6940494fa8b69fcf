// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/notify.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "lib/fd.hpp"

namespace sluice::base {
namespace notify_test {

// The manager's end of the socket.
class Listener {
 public:
  explicit Listener(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path);
    std::size_t length = offsetof(sockaddr_un, sun_path) + name.size() + 1;
    if (name.front() == '@') {
      address.sun_path[0] = '\0';
      --length;
    }
    CPPUNIT_ASSERT_EQUAL(0, ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                                   static_cast<socklen_t>(length)));
  }
  std::string heard() const {
    char buffer[512];
    const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    return size < 0 ? "nothing" : std::string(buffer, static_cast<std::size_t>(size));
  }

 private:
  lib::Fd socket_;
};

class NotifyTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(NotifyTest);
  CPPUNIT_TEST(messages_reach_a_path);
  CPPUNIT_TEST(messages_reach_an_abstract_name);
  CPPUNIT_TEST(a_reload_is_sent_with_its_time);
  CPPUNIT_TEST(the_variables_are_removed_from_the_environment);
  CPPUNIT_TEST(a_notifier_without_a_socket_does_nothing);
  CPPUNIT_TEST(invalid_socket_names_are_ignored);
  CPPUNIT_TEST(the_watchdog_of_another_process_is_ignored);
  CPPUNIT_TEST(a_stopped_or_slow_manager_does_not_block);
  CPPUNIT_TEST_SUITE_END();

  char folder_[32] = "/tmp/sluice-notify-XXXXXX";
  std::string path() const { return std::string(folder_) + "/socket"; }

  static Notifier made(const std::string& socket, const std::string& every = {}, const std::string& pid = {}) {
    ::setenv("NOTIFY_SOCKET", socket.c_str(), 1);
    if (!every.empty()) ::setenv("WATCHDOG_USEC", every.c_str(), 1);
    if (!pid.empty()) ::setenv("WATCHDOG_PID", pid.c_str(), 1);
    return Notifier::from_environment();
  }

 public:
  void setUp() override { CPPUNIT_ASSERT(::mkdtemp(folder_) != nullptr); }
  void tearDown() override {
    ::unlink(path().c_str());
    ::rmdir(folder_);
  }

  void messages_reach_a_path() {
    const Listener listener(path());
    const Notifier notifier = made(path());
    CPPUNIT_ASSERT(notifier.is_enabled());
    notifier.notify("READY=1\nSTATUS=good");
    CPPUNIT_ASSERT_EQUAL(std::string("READY=1\nSTATUS=good"), listener.heard());
  }

  void messages_reach_an_abstract_name() {
    const std::string name = "@sluice-test-" + std::to_string(::getpid());
    const Listener listener(name);
    made(name).notify("READY=1");
    CPPUNIT_ASSERT_EQUAL(std::string("READY=1"), listener.heard());
  }

  void a_reload_is_sent_with_its_time() {
    const Listener listener(path());
    const Notifier notifier = made(path());
    const auto now = [] {
      timespec time{};
      ::clock_gettime(CLOCK_MONOTONIC, &time);
      return time.tv_sec * 1'000'000LL + time.tv_nsec / 1000;
    };
    const long long before = now();
    notifier.reloading();
    const std::string heard = listener.heard(), start = "RELOADING=1\nMONOTONIC_USEC=";
    CPPUNIT_ASSERT_MESSAGE(heard, heard.starts_with(start));
    const long long sent = std::stoll(heard.substr(start.size()));
    CPPUNIT_ASSERT(before <= sent && sent <= now());
    notifier.ready();
    CPPUNIT_ASSERT_EQUAL(std::string("READY=1"), listener.heard());
  }

  void the_variables_are_removed_from_the_environment() {
    made("/tmp/somewhere", "1000", std::to_string(::getpid()));
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
      CPPUNIT_ASSERT_MESSAGE(name, ::getenv(name) == nullptr);
    }
  }

  void a_notifier_without_a_socket_does_nothing() {
    const Notifier notifier = Notifier::from_environment();
    CPPUNIT_ASSERT(!notifier.is_enabled());
    CPPUNIT_ASSERT(!notifier.watchdog());
    notifier.notify("READY=1");
    Notifier().notify("READY=1");
  }

  void invalid_socket_names_are_ignored() {
    for (const std::string& name : {std::string(), std::string("@"), std::string("/"), std::string("vsock:2:1"),
                                    "/" + std::string(200, 'a'), std::string("relative")}) {
      CPPUNIT_ASSERT_MESSAGE(name, !made(name, "1000").watchdog());
    }
  }

  void the_watchdog_of_another_process_is_ignored() {
    const std::string own = std::to_string(::getpid());
    CPPUNIT_ASSERT(made(path(), "5000").watchdog() == std::chrono::microseconds(5000));
    CPPUNIT_ASSERT(made(path(), "5000", own).watchdog() == std::chrono::microseconds(5000));
    CPPUNIT_ASSERT(!made(path(), "5000", "1").watchdog());
    CPPUNIT_ASSERT(!made(path(), "0").watchdog());
    CPPUNIT_ASSERT(!made(path(), "soon").watchdog());
  }

  void a_stopped_or_slow_manager_does_not_block() {
    const Notifier early = made(path());
    early.notify("READY=1");
    const Listener listener(path());
    // Many more than the socket buffer can hold.
    for (int i = 0; i < 100000; ++i) early.notify("STATUS=" + std::to_string(i));
    CPPUNIT_ASSERT_EQUAL(std::string("STATUS=0"), listener.heard());
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(NotifyTest);

}  // namespace notify_test
}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/passed_descriptors.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

namespace sluice::base {
namespace passed_descriptors_test {

// The descriptors begin at 3, which this process already uses, so each case runs in its own process.
// The result of `check`, or the reason why there is none.
std::string in_child(int count, const std::function<std::string()>& check) {
  int ends[2];
  CPPUNIT_ASSERT_EQUAL(0, ::pipe(ends));
  const pid_t child = ::fork();
  CPPUNIT_ASSERT(child >= 0);
  if (child == 0) {
    const int out = ::fcntl(ends[1], F_DUPFD, 100);
    for (int fd = 3; fd < 100; ++fd) ::close(fd);
    for (int i = 0; i < count; ++i) {
      const int made = ::socket(AF_UNIX, SOCK_DGRAM, 0);
      if (made != 3 + i) ::_exit(1);
    }
    const std::string said = check();
    const bool written = ::write(out, said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string out;
  char buffer[256];
  for (ssize_t size; (size = ::read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? out : "the process died";
}

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

// The taken descriptors as "3:a 4:b", with any errors.
std::string taken() {
  const auto passed = take_passed_descriptors();
  std::string out;
  for (const auto& one : passed) {
    out += (out.empty() ? "" : " ") + std::to_string(one.fd.get()) + ":" + one.name;
    if ((::fcntl(one.fd.get(), F_GETFD) & FD_CLOEXEC) == 0) out += "(inherited)";
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
    if (::getenv(name) != nullptr) out += std::string(" ") + name + " is left";
  }
  return out;
}

class PassedDescriptorsTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(PassedDescriptorsTest);
  CPPUNIT_TEST(descriptors_have_names);
  CPPUNIT_TEST(names_are_optional);
  CPPUNIT_TEST(a_wrong_number_of_names_is_ignored);
  CPPUNIT_TEST(descriptors_of_another_process_are_ignored);
  CPPUNIT_TEST(invalid_numbers_are_ignored);
  CPPUNIT_TEST(missing_descriptors_are_skipped);
  CPPUNIT_TEST(descriptors_are_closed_by_their_owner);
  CPPUNIT_TEST_SUITE_END();

 public:
  void descriptors_have_names() {
    CPPUNIT_ASSERT_EQUAL(std::string("3:a 4:sluice.x.ipv4.b 5:"), in_child(4, [] {
                           set("LISTEN_PID", std::to_string(::getpid()));
                           set("LISTEN_FDS", "3");
                           set("LISTEN_FDNAMES", "a:sluice.x.ipv4.b:");
                           return taken();
                         }));
  }

  void names_are_optional() {
    CPPUNIT_ASSERT_EQUAL(std::string("3: 4:"), in_child(2, [] {
                           set("LISTEN_PID", std::to_string(::getpid()));
                           set("LISTEN_FDS", "2");
                           return taken();
                         }));
  }

  void a_wrong_number_of_names_is_ignored() {
    for (const char* names : {"a", "a:b:c", ""}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(names, std::string("3: 4:"), in_child(2, [names] {
                                     set("LISTEN_PID", std::to_string(::getpid()));
                                     set("LISTEN_FDS", "2");
                                     set("LISTEN_FDNAMES", names);
                                     return taken();
                                   }));
    }
  }

  void descriptors_of_another_process_are_ignored() {
    CPPUNIT_ASSERT_EQUAL(std::string("still open"), in_child(2, [] {
                           set("LISTEN_PID", std::to_string(::getppid()));
                           set("LISTEN_FDS", "2");
                           set("LISTEN_FDNAMES", "a:b");
                           const std::string out = taken();
                           return out.empty() && ::fcntl(3, F_GETFD) == 0 ? "still open" : "taken: " + out;
                         }));
  }

  void invalid_numbers_are_ignored() {
    for (const char* count : {"", "0", "-1", "many", "2x", "99999999999"}) {
      CPPUNIT_ASSERT_EQUAL_MESSAGE(count, std::string(), in_child(2, [count] {
                                     set("LISTEN_PID", std::to_string(::getpid()));
                                     set("LISTEN_FDS", count);
                                     return taken();
                                   }));
    }
    CPPUNIT_ASSERT_EQUAL(std::string(), in_child(2, [] {
                           set("LISTEN_FDS", "2");
                           return taken();
                         }));
  }

  void missing_descriptors_are_skipped() {
    CPPUNIT_ASSERT_EQUAL(std::string("3:a 4:b"), in_child(2, [] {
                           set("LISTEN_PID", std::to_string(::getpid()));
                           set("LISTEN_FDS", "4");
                           set("LISTEN_FDNAMES", "a:b:c:d");
                           return taken();
                         }));
    CPPUNIT_ASSERT_EQUAL(std::string("3: 4:"), in_child(2, [] {
                           set("LISTEN_PID", std::to_string(::getpid()));
                           set("LISTEN_FDS", "2147483647");
                           return taken();
                         }));
  }

  void descriptors_are_closed_by_their_owner() {
    CPPUNIT_ASSERT_EQUAL(std::string("closed"), in_child(1, [] {
                           set("LISTEN_PID", std::to_string(::getpid()));
                           set("LISTEN_FDS", "1");
                           (void)take_passed_descriptors();
                           return std::string(::fcntl(3, F_GETFD) < 0 ? "closed" : "open");
                         }));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(PassedDescriptorsTest);

}  // namespace passed_descriptors_test
}  // namespace sluice::base

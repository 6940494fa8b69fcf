// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/program.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "test/unit/patience.hpp"

namespace sluice::base {
namespace program_test {

using namespace std::chrono_literals;

class ProgramTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProgramTest);
  CPPUNIT_TEST(output_complaint_and_exit_status_come_back);
  CPPUNIT_TEST(a_program_that_is_not_there_is_named);
  CPPUNIT_TEST(the_environment_is_the_given_one);
  CPPUNIT_TEST(nothing_of_ours_is_inherited);
  CPPUNIT_TEST(too_slow_is_a_failure_and_leaves_nothing_behind);
  CPPUNIT_TEST(too_much_output_is_a_failure_and_too_much_complaint_is_cut);
  CPPUNIT_TEST(a_child_that_holds_the_streams_is_not_waited_for);
  CPPUNIT_TEST(a_stop_ends_it);
  CPPUNIT_TEST(a_signal_is_told);
  CPPUNIT_TEST(programs_are_found_in_absolute_folders);
  CPPUNIT_TEST_SUITE_END();

  static Program shell(const std::string& script) {
    Program out;
    out.arguments = {"/bin/sh", "-c", script};
    out.environment = {"PATH=/usr/bin:/bin"};
    return out;
  }
  static bool never() { return false; }

  void output_complaint_and_exit_status_come_back() {
    const auto got = run_program(shell("echo out; echo err >&2; exit 3"), never);
    CPPUNIT_ASSERT_EQUAL(std::string("out\n"), got->output);
    CPPUNIT_ASSERT_EQUAL(std::string("err\n"), got->complaint);
    CPPUNIT_ASSERT_EQUAL(3, got->exit_code);
  }

  void a_program_that_is_not_there_is_named() {
    Program program;
    program.arguments = {"/no/such/program"};
    CPPUNIT_ASSERT_EQUAL(std::string("cannot start /no/such/program: No such file or directory"),
                         run_program(program, never).status().message());
  }

  void the_environment_is_the_given_one() {
    auto program = shell("echo \"$GIVEN:$HOME\"");
    program.environment.push_back("GIVEN=yes");
    CPPUNIT_ASSERT_EQUAL(std::string("yes:\n"), run_program(program, never)->output);
  }

  void nothing_of_ours_is_inherited() {
    // Without close-on-exec, as a library may open it.
    const int leaked = ::open("/dev/null", O_RDONLY);
    const auto got = run_program(shell("ls /proc/self/fd; cat"), never);
    ::close(leaked);
    // One is the folder that ls reads.
    CPPUNIT_ASSERT_EQUAL(std::string("0\n1\n2\n3\n"), got->output);
  }

  void too_slow_is_a_failure_and_leaves_nothing_behind() {
    auto program = shell("echo $$ >&2; sleep 600 & sleep 600");
    program.limit = 200ms;
    const auto began = std::chrono::steady_clock::now();
    const auto got = run_program(program, never);
    CPPUNIT_ASSERT(!got.ok());
    CPPUNIT_ASSERT_MESSAGE(got.status().message(), got.status().message().find("has not ended") != std::string::npos);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - began < test::stretched(20s));  // far less than the sleep
  }

  void too_much_output_is_a_failure_and_too_much_complaint_is_cut() {
    auto program = shell("head -c 300000 /dev/zero >&2; exit 1");
    const auto complained = run_program(program, never);
    CPPUNIT_ASSERT_EQUAL(std::size_t(4096), complained->complaint.size());
    CPPUNIT_ASSERT_EQUAL(1, complained->exit_code);
    program = shell("cat /dev/zero");
    program.output_limit = 1000;
    CPPUNIT_ASSERT_EQUAL(std::string("/bin/sh writes more than 1000 bytes"),
                         run_program(program, never).status().message());
  }

  void a_child_that_holds_the_streams_is_not_waited_for() {
    const auto began = std::chrono::steady_clock::now();
    const auto got = run_program(shell("sleep 600 & echo done"), never);
    CPPUNIT_ASSERT_EQUAL(std::string("done\n"), got->output);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - began < test::stretched(20s));  // far less than the sleep
  }

  void a_stop_ends_it() {
    int asked = 0;
    const auto got = run_program(shell("sleep 60"), [&] { return ++asked > 2; });
    CPPUNIT_ASSERT_EQUAL(ECANCELED, got.status().os_errno());
  }

  void a_signal_is_told() { CPPUNIT_ASSERT_EQUAL(SIGKILL, run_program(shell("kill -9 $$"), never)->signal); }

  void programs_are_found_in_absolute_folders() {
    CPPUNIT_ASSERT_EQUAL(std::string("/bin/sh"), find_program("sh", "::relative:/no/such:/bin"));
    CPPUNIT_ASSERT_EQUAL(std::string(), find_program("sh", "bin:."));
    CPPUNIT_ASSERT_EQUAL(std::string(), find_program("no-such-program", "/bin"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProgramTest);

}  // namespace program_test
}  // namespace sluice::base

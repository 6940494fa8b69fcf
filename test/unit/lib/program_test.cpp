// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "lib/program.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "test/unit/patience.hpp"

namespace sluice::lib {
namespace program_test {

using namespace std::chrono_literals;

class ProgramTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(ProgramTest);
  CPPUNIT_TEST(output_error_output_and_exit_status_are_returned);
  CPPUNIT_TEST(a_missing_program_is_named);
  CPPUNIT_TEST(input_is_passed_and_need_not_be_read);
  CPPUNIT_TEST(output_is_delivered_in_pieces);
  CPPUNIT_TEST(only_the_given_environment_is_passed);
  CPPUNIT_TEST(without_an_environment_the_locale_is_c);
  CPPUNIT_TEST(no_descriptors_are_inherited);
  CPPUNIT_TEST(a_timeout_kills_the_process_group);
  CPPUNIT_TEST(a_timeout_kills_a_program_without_streams);
  CPPUNIT_TEST(too_much_output_is_a_failure_and_error_output_is_truncated);
  CPPUNIT_TEST(a_child_that_keeps_the_streams_open_is_not_waited_for);
  CPPUNIT_TEST(stop_ends_the_program);
  CPPUNIT_TEST(a_signal_is_reported);
  CPPUNIT_TEST(programs_are_found_in_absolute_folders);
  CPPUNIT_TEST_SUITE_END();

  static Program shell(const std::string& script) {
    Program out;
    out.arguments = {"/bin/sh", "-c", script};
    out.environment = std::vector<std::string>{"PATH=/usr/bin:/bin"};
    return out;
  }

  void output_error_output_and_exit_status_are_returned() {
    const auto got = run_program(shell("echo out; echo err >&2; exit 3"));
    CPPUNIT_ASSERT_EQUAL(std::string("out\n"), got->output);
    CPPUNIT_ASSERT_EQUAL(std::string("err\n"), got->error_output);
    CPPUNIT_ASSERT_EQUAL(3, got->exit_code);
  }

  void a_missing_program_is_named() {
    Program program;
    program.arguments = {"/no/such/program"};
    CPPUNIT_ASSERT_EQUAL(std::string("cannot start /no/such/program: No such file or directory"),
                         run_program(program).status().message());
  }

  void input_is_passed_and_need_not_be_read() {
    const std::string much(3'000'000, 'x');  // more than a pipe holds
    auto program = shell("cat; cat /dev/null >&2");
    program.input = much;
    CPPUNIT_ASSERT(run_program(program)->output == much);
    program.arguments.back() = "exit 0";
    CPPUNIT_ASSERT(run_program(program)->ok());
  }

  void output_is_delivered_in_pieces() {
    std::string output;
    auto program = shell("echo one; echo two");
    program.on_output = [&](std::string_view piece) { output.append(piece); };
    CPPUNIT_ASSERT(run_program(program)->output.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("one\ntwo\n"), output);
  }

  void only_the_given_environment_is_passed() {
    auto program = shell("echo \"$GIVEN:$HOME\"");
    program.environment->push_back("GIVEN=yes");
    CPPUNIT_ASSERT_EQUAL(std::string("yes:\n"), run_program(program)->output);
  }

  void without_an_environment_the_locale_is_c() {
    auto program = shell("echo $LC_ALL-$LC_MESSAGES");
    program.environment.reset();
    ::setenv("LC_MESSAGES", "de_DE.UTF-8", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("C-\n"), run_program(program)->output);
    ::unsetenv("LC_MESSAGES");
  }

  void no_descriptors_are_inherited() {
    // Without close-on-exec, like descriptors of some libraries.
    const int leaked = ::open("/dev/null", O_RDONLY);
    const auto got = run_program(shell("ls /proc/self/fd; cat"));
    ::close(leaked);
    // One descriptor is the folder that ls reads.
    CPPUNIT_ASSERT_EQUAL(std::string("0\n1\n2\n3\n"), got->output);
  }

  void a_timeout_kills_the_process_group() {
    auto program = shell("echo $$ >&2; sleep 600 & sleep 600");
    program.timeout = 200ms;
    const auto began = std::chrono::steady_clock::now();
    const auto got = run_program(program);
    CPPUNIT_ASSERT(got->timed_out && !got->ok());
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - began < test::stretched(20s));  // far less than the sleep
  }

  void a_timeout_kills_a_program_without_streams() {
    auto program = shell("exec >&- 2>&-; sleep 600");
    program.timeout = 50ms;
    CPPUNIT_ASSERT(run_program(program)->timed_out);
  }

  void too_much_output_is_a_failure_and_error_output_is_truncated() {
    auto program = shell("head -c 300000 /dev/zero >&2; exit 1");
    program.error_output_limit = 4096;
    const auto failed = run_program(program);
    CPPUNIT_ASSERT_EQUAL(std::size_t(4096), failed->error_output.size());
    CPPUNIT_ASSERT_EQUAL(1, failed->exit_code);
    program = shell("cat /dev/zero");
    program.output_limit = 1000;
    CPPUNIT_ASSERT_EQUAL(std::string("/bin/sh writes more than 1000 bytes"), run_program(program).status().message());
  }

  void a_child_that_keeps_the_streams_open_is_not_waited_for() {
    const auto began = std::chrono::steady_clock::now();
    const auto got = run_program(shell("sleep 600 & echo done"));
    CPPUNIT_ASSERT_EQUAL(std::string("done\n"), got->output);
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - began < test::stretched(20s));  // far less than the sleep
  }

  void stop_ends_the_program() {
    int asked = 0;
    const auto got = run_program(shell("sleep 60"), [&] { return ++asked > 2; });
    CPPUNIT_ASSERT_EQUAL(ECANCELED, got.status().os_errno());
  }

  void a_signal_is_reported() { CPPUNIT_ASSERT_EQUAL(SIGKILL, run_program(shell("kill -9 $$"))->signal); }

  void programs_are_found_in_absolute_folders() {
    CPPUNIT_ASSERT_EQUAL(std::string("/bin/sh"), find_program("sh", "::relative:/no/such:/bin"));
    CPPUNIT_ASSERT_EQUAL(std::string(), find_program("sh", "bin:."));
    CPPUNIT_ASSERT_EQUAL(std::string(), find_program("no-such-program", "/bin"));
    CPPUNIT_ASSERT(find_program("sh").ends_with("/sh"));
    CPPUNIT_ASSERT_EQUAL(std::string(), find_program("no-such-program-here"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(ProgramTest);

}  // namespace program_test
}  // namespace sluice::lib

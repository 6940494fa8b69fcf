// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/process/command.hpp"

#include <cppunit/TestAssert.h>
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <system_error>

#include "test/unit/patience.hpp"

namespace sluice::process {
namespace command_test {

class CommandTest : public CppUnit::TestFixture {
  CPPUNIT_TEST_SUITE(CommandTest);
  CPPUNIT_TEST(passes_input_and_output);
  CPPUNIT_TEST(passes_more_than_the_pipe_buffer);
  CPPUNIT_TEST(reports_exit_status_and_error_output);
  CPPUNIT_TEST(reports_the_signal_that_killed_it);
  CPPUNIT_TEST(kills_the_program_after_the_timeout);
  CPPUNIT_TEST(unread_input_does_not_block);
  CPPUNIT_TEST(missing_program_throws);
  CPPUNIT_TEST(child_inherits_no_descriptors);
  CPPUNIT_TEST(programs_run_in_the_c_locale);
  CPPUNIT_TEST(delivers_output_in_pieces);
  CPPUNIT_TEST(finds_programs_by_name);
  CPPUNIT_TEST_SUITE_END();

  static Outcome shell(const std::string& script, std::string_view input = {},
                       std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    Command command;
    command.arguments = {"/bin/sh", "-c", script};
    command.input = input;
    command.timeout = limit;
    return run(command);
  }

  void passes_input_and_output() {
    const Outcome outcome = shell("cat", "hello");
    CPPUNIT_ASSERT(outcome.ok());
    CPPUNIT_ASSERT_EQUAL(std::string("hello"), outcome.output);
  }
  void passes_more_than_the_pipe_buffer() {
    const std::string much(3000000, 'x');
    const Outcome outcome = shell("cat; cat /dev/null >&2", much);
    CPPUNIT_ASSERT(outcome.output == much);
  }
  void reports_exit_status_and_error_output() {
    const Outcome outcome = shell("echo bad >&2; exit 4");
    CPPUNIT_ASSERT_EQUAL(4, outcome.exit_code);
    CPPUNIT_ASSERT_EQUAL(std::string("bad\n"), outcome.error_output);
    CPPUNIT_ASSERT(!outcome.ok() && !outcome.timed_out);
  }
  void reports_the_signal_that_killed_it() { CPPUNIT_ASSERT_EQUAL(SIGTERM, shell("kill -TERM $$").signal); }
  void kills_the_program_after_the_timeout() {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = shell("sleep 600", {}, std::chrono::milliseconds(30));
    CPPUNIT_ASSERT(outcome.timed_out && !outcome.ok());
    // Much shorter than the sleep.
    CPPUNIT_ASSERT(std::chrono::steady_clock::now() - begin < test::stretched(std::chrono::seconds(20)));
  }
  void unread_input_does_not_block() {
    const std::string much(3000000, 'x');
    CPPUNIT_ASSERT(shell("exit 0", much).ok());
  }
  void missing_program_throws() {
    Command command;
    command.arguments = {"/nonexistent/program"};
    CPPUNIT_ASSERT_THROW(run(command), std::system_error);
  }
  void child_inherits_no_descriptors() {
    // Without O_CLOEXEC, as libraries may open descriptors.
    const int leaked = open("/dev/null", O_RDONLY);
    const Outcome outcome = shell("ls /proc/self/fd; cat");
    close(leaked);
    // One more is the folder that ls reads.
    CPPUNIT_ASSERT_EQUAL(std::string("0\n1\n2\n3\n"), outcome.output);
  }
  void programs_run_in_the_c_locale() {
    setenv("LC_MESSAGES", "de_DE.UTF-8", 1);
    CPPUNIT_ASSERT_EQUAL(std::string("C-\n"), shell("echo $LC_ALL-$LC_MESSAGES").output);
    unsetenv("LC_MESSAGES");
  }
  void delivers_output_in_pieces() {
    std::string output;
    Command command;
    command.arguments = {"/bin/sh", "-c", "echo one; echo two"};
    command.on_output = [&](std::string_view piece) { output.append(piece); };
    CPPUNIT_ASSERT(run(command).output.empty());
    CPPUNIT_ASSERT_EQUAL(std::string("one\ntwo\n"), output);
  }
  void finds_programs_by_name() {
    CPPUNIT_ASSERT(find_program("sh").ends_with("/sh"));
    CPPUNIT_ASSERT_EQUAL(std::string(), find_program("no-such-program-here"));
  }
};

CPPUNIT_TEST_SUITE_REGISTRATION(CommandTest);

}  // namespace command_test
}  // namespace sluice::process

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/restore_program.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace sluice::netfilter {
namespace {

// Ends a hung tool. Tens of thousands of lines take long, above all on a busy node, so one
// second is added for each thousand.
constexpr std::chrono::seconds kRestoreTimeout(45);
constexpr std::ptrdiff_t kLinesPerSecond = 1000;

// Some error messages have two lines, of which the first only names the program.
std::string in_one_line(std::string_view message) {
  std::string line;
  bool blank = false;
  for (const char c : message) {
    if (c == '\n' || c == '\r' || c == ' ') {
      blank = !line.empty();
      continue;
    }
    if (blank) line.push_back(' ');
    blank = false;
    line.push_back(c);
  }
  const std::size_t hint = line.find(" Try `");
  return line.substr(0, hint);
}

}  // namespace

lib::Program restore_command(const Tools& tools, std::string_view input) {
  lib::Program command;
  command.arguments = {tools.restore};
  switch (tools.wait) {
    case RestoreWait::kSeconds:
      command.arguments.insert(command.arguments.end(), {"-w", "5"});
      break;
    case RestoreWait::kForever: command.arguments.emplace_back("-w"); break;
    case RestoreWait::kNot: break;
  }
  command.arguments.emplace_back("--noflush");
  command.input = input;
  command.timeout =
      kRestoreTimeout + std::chrono::seconds(std::count(input.begin(), input.end(), '\n') / kLinesPerSecond);
  return command;
}

std::string explain(const std::string& program, const lib::ProgramResult& outcome) {
  const std::string name = program.substr(program.rfind('/') + 1);
  if (outcome.timed_out) return name + " did not end in time and was killed";
  if (outcome.signal != 0) return name + " was ended by signal " + std::to_string(outcome.signal);
  const std::string message = in_one_line(outcome.error_output);
  if (message.empty()) return name + " ended with status " + std::to_string(outcome.exit_code);
  return message.starts_with(name) ? message : name + ": " + message;
}

}  // namespace sluice::netfilter

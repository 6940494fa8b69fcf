// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs one program to its end: text in, text out, a limit of time, no shell. The only
// place of the built-in plugins that starts a process. Any thread; blocks its caller.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::process {

struct Command {
  std::vector<std::string> arguments;  // [0] is the absolute path of the program
  std::string_view input;              // what it reads from standard input
  std::chrono::milliseconds limit{30000};
  // Receives standard output piece by piece; without it the output is collected.
  std::function<void(std::string_view)> on_output;
  // Runs it in a network namespace of its own that ends with it, for trying things
  // without a trace. Needs CAP_SYS_ADMIN.
  bool scratch_network = false;
};

struct Outcome {
  int exit_code = -1;      // of a program that ended by itself, else -1
  int signal = 0;          // the signal that ended it, else 0
  bool timed_out = false;  // it was killed because of the limit
  std::string output;      // standard output, unless on_output took it
  std::string complaint;   // standard error, the first 64 KiB

  bool ok() const noexcept { return exit_code == 0; }
};

// Throws std::system_error when the program cannot be started; whatever it does after
// that is in the Outcome.
Outcome run(const Command& command);

// The absolute path of a program in PATH and in the usual system folders; empty when
// there is none.
std::string find_program(std::string_view name);

}  // namespace sluice::process

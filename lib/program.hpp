// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a program to its end: without a shell, a terminal or inherited descriptors, in its own process group, with a
// timeout. The daemon and the built-in backends start processes only here. Any thread; blocks the caller.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/status.hpp"

namespace sluice::lib {

struct Program {
  std::vector<std::string> arguments;  // the first one is the path of the executable
  std::string_view input = {};         // standard input
  // Complete, "NAME=value". Without it: that of this process with the locale C, because error messages are parsed.
  std::optional<std::vector<std::string>> environment = {};
  std::chrono::milliseconds timeout{30'000};
  // Receives standard output piece by piece; without it the output is collected.
  std::function<void(std::string_view)> on_output = {};
  std::size_t output_limit = std::numeric_limits<std::size_t>::max();  // of collected output; more is a failure
  std::size_t error_output_limit = 64u << 10;                          // the rest is discarded
  // Runs the program in a temporary network namespace, for probes without side effects. Needs CAP_SYS_ADMIN.
  bool scratch_network = false;
};

struct ProgramResult {
  std::string output;        // standard output, unless on_output received it
  std::string error_output;  // the beginning of standard error
  int exit_code = -1;        // -1: killed by `signal` or because of the timeout
  int signal = 0;
  bool timed_out = false;

  bool ok() const { return exit_code == 0; }
};

// Fails with an errno if the program cannot be started, and without one if it writes too much. Returns early with
// ECANCELED if `stopped` returns true. A program that has not ended is killed with its process group.
Result<ProgramResult> run_program(const Program& program, const std::function<bool()>& stopped = {});

// A new process has all descriptors of this one until it executes its program, so a port whose socket was closed
// meanwhile stays in use. Waits for the programs that are being started, for a second at most.
void await_starting_programs();

// Counts as a program that is being started while it exists. run_program() uses it.
class StartingProgram {
 public:
  StartingProgram();
  StartingProgram(const StartingProgram&) = delete;
  StartingProgram& operator=(const StartingProgram&) = delete;
  ~StartingProgram();
};

// The path of an executable file called `name` in the folders of `search_path`
// ("/usr/bin:/bin"); empty if there is none. Relative folders are skipped.
std::string find_program(std::string_view name, std::string_view search_path);
// The same in PATH and the usual system folders.
std::string find_program(std::string_view name);

}  // namespace sluice::lib

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs one program to its end, with input, output and a timeout, without a shell. The built-in
// plugins start processes only here. Any thread; blocks the caller.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::process {

struct Command {
  std::vector<std::string> arguments;  // [0] is the absolute path of the program
  std::string_view input;              // standard input
  std::chrono::milliseconds timeout{30000};
  // Receives standard output piece by piece; without it the output is collected.
  std::function<void(std::string_view)> on_output;
  // Runs the program in a temporary network namespace, for probes without side effects.
  // Needs CAP_SYS_ADMIN.
  bool scratch_network = false;
};

struct Outcome {
  int exit_code = -1;        // -1: killed by a signal or the timeout
  int signal = 0;            // the signal that killed it, otherwise 0
  bool timed_out = false;    // killed because of the timeout
  std::string output;        // standard output, unless on_output received it
  std::string error_output;  // standard error, the first 64 KiB

  bool ok() const noexcept { return exit_code == 0; }
};

// Throws std::system_error if the program cannot be started. Later failures are in the
// Outcome.
Outcome run(const Command& command);

// The absolute path of a program in PATH or in the usual system folders; empty if there is
// none.
std::string find_program(std::string_view name);

}  // namespace sluice::process

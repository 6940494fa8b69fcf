// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a program to its end: without a terminal, without inherited descriptors, in its own process group, with a
// timeout and bounded output. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/status.hpp"

namespace sluice::lib {

struct Program {
  std::vector<std::string> arguments;    // the first one is the path of the executable
  std::vector<std::string> environment;  // complete, "NAME=value"
  std::chrono::milliseconds timeout{60'000};
  std::size_t output_limit = 1u << 20;    // more is a failure
  std::size_t error_output_limit = 4096;  // the rest is discarded
};

struct ProgramResult {
  std::string output;        // standard output
  std::string error_output;  // the beginning of standard error
  int exit_code = -1;     // -1: ended by `signal`
  int signal = 0;
};

// Fails if the program cannot be started, exceeds its timeout or writes too much; its process group is then killed.
// Returns early with ECANCELED if `stopped` returns true.
Result<ProgramResult> run_program(const Program& program, const std::function<bool()>& stopped);

// The path of an executable file called `name` in the folders of `search_path`
// ("/usr/bin:/bin"); empty if there is none. Relative folders are skipped.
std::string find_program(std::string_view name, std::string_view search_path);

}  // namespace sluice::lib

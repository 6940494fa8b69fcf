// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a program to its end: without a terminal, without any of our descriptors, in a
// process group of its own, within a time and with bounded output. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"

namespace sluice::base {

struct Program {
  std::vector<std::string> arguments;    // the first one is the path of the file
  std::vector<std::string> environment;  // all of it, "NAME=value"
  std::chrono::milliseconds limit{60'000};
  std::size_t output_limit = 1u << 20;  // more is a failure
  std::size_t complaint_limit = 4096;   // the rest is thrown away
};

struct ProgramResult {
  std::string output;     // its standard output
  std::string complaint;  // the beginning of its standard error
  int exit_code = -1;     // -1: ended by `signal`
  int signal = 0;
};

// Fails when the program cannot be started, takes too long or writes too much; nothing
// of it is left running then. Ends early, with ECANCELED, when `stopped` says so.
Result<ProgramResult> run_program(const Program& program, const std::function<bool()>& stopped);

// The path of an executable file called `name` in the folders of `search_path`
// ("/usr/bin:/bin"); empty when there is none. Relative folders are passed over.
std::string find_program(std::string_view name, std::string_view search_path);

}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The results of connections, as one JSON line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "relaycheck_loop.hpp"

namespace relaycheck {

struct Tally {
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t empty = 0;  // at a server: closed before the header
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::size_t most_open = 0;
  std::map<std::string, std::uint64_t> problems;  // by the text before the colon
  std::string first_problem;
  Clock::time_point since = Clock::now();

  void add_problem(std::size_t number, const std::string& problem);
  void print(std::size_t open) const;
};

// Raises the limit of open files to the maximum.
void raise_descriptor_limit();

}  // namespace relaycheck

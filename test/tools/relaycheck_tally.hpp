// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What became of connections, as one JSON line.
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
  std::uint64_t empty = 0;  // a server's: closed before they said anything
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  std::size_t most_open = 0;
  std::map<std::string, std::uint64_t> problems;  // by what stands before the colon
  std::string first_problem;
  Clock::time_point since = Clock::now();

  void add_problem(std::size_t number, const std::string& problem);
  void print(std::size_t open) const;
};

// As many descriptors as this process may have.
void raise_descriptor_limit();

}  // namespace relaycheck

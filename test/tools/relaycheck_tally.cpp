// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "relaycheck_tally.hpp"

#include <sys/resource.h>

namespace relaycheck {

void Tally::add_problem(std::size_t number, const std::string& problem) {
  if (failed++ == 0) first_problem = "connection " + std::to_string(number) + ": " + problem;
  ++problems[problem.substr(0, problem.find(':'))];
}

void Tally::print(std::size_t open) const {
  const auto number = [](const char* name, std::uint64_t value) {
    std::printf("\"%s\": %llu, ", name, static_cast<unsigned long long>(value));
  };
  std::printf("{");
  number("ok", ok);
  number("failed", failed);
  number("empty", empty);
  number("open", open);
  number("most_open", most_open);
  number("bytes_up", bytes_up);
  number("bytes_down", bytes_down);
  std::printf("\"problems\": {");
  const char* separator = "";
  for (const auto& [name, count] : problems) {
    std::printf("%s\"%s\": %llu", separator, name.c_str(), static_cast<unsigned long long>(count));
    separator = ", ";
  }
  std::printf("}, \"first_problem\": \"%s\", \"seconds\": %.2f}\n", first_problem.c_str(),
              std::chrono::duration<double>(Clock::now() - since).count());
  std::fflush(stdout);
}

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace relaycheck

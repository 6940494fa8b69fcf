// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho plan: asks many different questions at the same time. Each line of the standard input is a question,
//   PROTO ADDR PORT SOURCE[:PORT] TIMEOUT-MS
// and its result is the same line of the standard output. A question that waits until its timeout does not delay
// others.
#include <atomic>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "netecho_attempt.hpp"
#include "netecho_commands.hpp"
#include "netecho_options.hpp"

namespace netecho {
namespace {

Target parse_question(const std::string& line) {
  std::istringstream words(line);
  std::string protocol, address, port, source, timeout, more;
  if (!(words >> protocol >> address >> port >> source >> timeout) || words >> more) {
    throw UsageError("plan: no question: " + line);
  }
  Target target;
  target.protocol = parse_protocol(protocol);
  target.address = make_address(address, parse_port(port));
  target.source = parse_source(source);
  target.timeout = std::chrono::milliseconds(parse_number(timeout, "TIMEOUT-MS"));
  return target;
}

}  // namespace

int plan(const std::vector<std::string>& words) {
  const Options options(words, {{"--at-once"}, {}, 0});
  std::vector<Target> questions;
  for (std::string line; std::getline(std::cin, line);) questions.push_back(parse_question(line));
  std::vector<std::string> answers(questions.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.number("--at-once", 32); ++i) {
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < questions.size() && !stop_requested; at = next++) {
        answers[at] = open_conversation(questions[at]).answer.line();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answer : answers) std::printf("%s\n", answer.c_str());
  return 0;
}

}  // namespace netecho

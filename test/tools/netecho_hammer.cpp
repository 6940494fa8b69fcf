// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho hammer: connects without pause and counts what became of each attempt, as one JSON line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "netecho_attempt.hpp"
#include "netecho_commands.hpp"
#include "netecho_options.hpp"

namespace netecho {
namespace {

using Clock = std::chrono::steady_clock;

struct Tally {
  std::map<std::string, unsigned> outcomes{{"ok", 0}, {"refused", 0}, {"timeout", 0}, {"unreachable", 0}, {"error", 0}};
  std::map<std::string, unsigned> servers;
  unsigned failed = 0;
  std::string first_failure;
  std::chrono::milliseconds slowest{0};

  void add(const Answer& answer, std::chrono::milliseconds took) {
    ++outcomes[std::string(outcome_name(answer.outcome))];
    if (answer.outcome == Outcome::ok) {
      ++servers[answer.server];
      slowest = std::max(slowest, took);
    } else if (failed++ == 0) {
      first_failure = answer.line();
    }
  }
};

void print_counts(const char* name, const std::map<std::string, unsigned>& counts) {
  std::printf("\"%s\": {", name);
  const char* separator = "";
  for (const auto& [key, value] : counts) {
    std::printf("%s\"%s\": %u", separator, key.c_str(), value);
    separator = ", ";
  }
  std::printf("}, ");
}

void print(const Tally& tally, double seconds) {
  std::printf("{\"ok\": %u, \"failed\": %u, ", tally.outcomes.at("ok"), tally.failed);
  print_counts("outcomes", tally.outcomes);
  print_counts("servers", tally.servers);
  std::printf("\"first_failure\": \"%s\", \"slowest_ms\": %lld, \"seconds\": %.1f}\n", tally.first_failure.c_str(),
              static_cast<long long>(tally.slowest.count()), seconds);
}

}  // namespace

int hammer(const std::vector<std::string>& words) {
  const Options options(words, {{"--seconds", "--interval", "--timeout", "--source"}, {}, 3});
  if (!options.has("--seconds")) throw UsageError("hammer needs --seconds");
  Target target;
  target.protocol = parse_protocol(options.positional(0));
  target.address = make_address(options.positional(1), parse_port(options.positional(2)));
  if (options.has("--source")) target.source = parse_source(options.text("--source", ""));
  // A lost SYN must count as a failure, also where the time-out is long because the machine is slow.
  target.first_syn_only = true;
  target.timeout = options.milliseconds("--timeout", 900);
  const auto interval = options.milliseconds("--interval", 5);

  Tally tally;
  const auto start = Clock::now();
  const auto end = start + std::chrono::seconds(options.number("--seconds", 0));
  while (!stop_requested && Clock::now() < end) {
    const auto begun = Clock::now();
    const Answer answer = open_conversation(target).answer;
    // An attempt cut short by our own stop signal says nothing about the network.
    if (stop_requested && answer.outcome != Outcome::ok) break;
    tally.add(answer, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun));
    std::this_thread::sleep_until(begun + interval);  // fixed time: the rate that --interval asks for
  }
  print(tally, std::chrono::duration<double>(Clock::now() - start).count());
  return 0;
}

}  // namespace netecho

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// netecho hammer: connects without pause and prints the counts of results as one JSON line.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <system_error>
#include <thread>

#include "netecho_attempt.hpp"
#include "netecho_commands.hpp"
#include "netecho_options.hpp"

namespace netecho {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds milliseconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from);
}

struct Tally {
  std::map<std::string, unsigned> outcomes{{"ok", 0}, {"refused", 0}, {"timeout", 0}, {"unreachable", 0}, {"error", 0}};
  std::map<std::string, unsigned> servers;
  unsigned failed = 0;
  std::string first_failure;
  std::chrono::milliseconds first_failure_at{0};  // since the start
  std::chrono::milliseconds slowest{0};

  void add(const Answer& answer, std::chrono::milliseconds at, std::chrono::milliseconds took) {
    ++outcomes[std::string(outcome_name(answer.outcome))];
    if (answer.outcome == Outcome::ok) {
      ++servers[answer.server];
      slowest = std::max(slowest, took);
    } else if (failed++ == 0) {
      first_failure = answer.line();
      first_failure_at = at;
    }
  }
};

// A file with the number of ended attempts, for tests that wait for more of them.
class CountFile {
 public:
  explicit CountFile(const std::string& path) {
    if (path.empty()) return;
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  CountFile(const CountFile&) = delete;
  CountFile& operator=(const CountFile&) = delete;
  ~CountFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // The length is constant, so that a reader never gets a part of a longer number.
  void write(unsigned count) const {
    if (descriptor_ < 0) return;
    std::array<char, 12> text{};
    const int length = std::snprintf(text.data(), text.size(), "%010u\n", count);
    if (::pwrite(descriptor_, text.data(), static_cast<std::size_t>(length), 0) != length) {
      throw std::system_error(errno, std::generic_category(), "count file");
    }
  }

 private:
  int descriptor_ = -1;
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
  std::printf("\"first_failure\": \"%s\", \"first_failure_at_ms\": %lld, \"slowest_ms\": %lld, \"seconds\": %.1f}\n",
              tally.first_failure.c_str(), static_cast<long long>(tally.first_failure_at.count()),
              static_cast<long long>(tally.slowest.count()), seconds);
}

}  // namespace

int hammer(const std::vector<std::string>& words) {
  const Options options(words, {{"--seconds", "--interval", "--timeout", "--source", "--count-file"}, {}, 3});
  if (!options.has("--seconds")) throw UsageError("hammer needs --seconds");
  Target target;
  target.protocol = parse_protocol(options.positional(0));
  target.address = make_address(options.positional(1), parse_port(options.positional(2)));
  if (options.has("--source")) target.source = parse_source(options.text("--source", ""));
  // A lost SYN must count as a failure, even if the timeout is long because the machine is slow.
  target.first_syn_only = true;
  target.timeout = options.milliseconds("--timeout", 900);
  const auto interval = options.milliseconds("--interval", 5);

  const CountFile count_file(options.text("--count-file", ""));

  Tally tally;
  unsigned attempts = 0;
  const auto start = Clock::now();
  const auto end = start + std::chrono::seconds(options.number("--seconds", 0));
  while (!stop_requested && Clock::now() < end) {
    const auto begun = Clock::now();
    const Answer answer = open_conversation(target).answer;
    // Ignore an attempt that the stop signal has interrupted.
    if (stop_requested && answer.outcome != Outcome::ok) break;
    tally.add(answer, milliseconds_between(start, begun), milliseconds_between(begun, Clock::now()));
    count_file.write(++attempts);
    std::this_thread::sleep_until(begun + interval);  // fixed time: the rate of --interval
  }
  print(tally, std::chrono::duration<double>(Clock::now() - start).count());
  return 0;
}

}  // namespace netecho

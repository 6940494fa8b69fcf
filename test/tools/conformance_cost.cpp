// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// conformance-load cost: measures the cost of programming many Services, and of changing a few of them. Prints one line
// for each step; the conformance kit has the limits.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "conformance_services.hpp"
#include "conformance_subject.hpp"

namespace conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxAttempts = 4;  // of an apply() that returns kRetry
constexpr int kDeltas = 7;

double milliseconds(Clock::duration length) { return std::chrono::duration<double, std::milli>(length).count(); }

// CPU time of this process and of its terminated child processes.
double cpu_milliseconds() {
  double out = 0;
  for (const int target : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(target, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime}) {
      out += static_cast<double>(part.tv_sec) * 1e3 + static_cast<double>(part.tv_usec) / 1e3;
    }
  }
  return out;
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

class Report {
 public:
  Report(abi::Family family, std::uint32_t services) : family_(family), services_(services) {}

  // `call` executes the step and returns a Code. The reported writes are those of the last apply.
  template <class Call>
  abi::Code step(const char* name, Subject& subject, Call call, bool applies = true) {
    const auto begun = Clock::now();
    const double cpu = cpu_milliseconds();
    const abi::Code code = call();
    const double wall = milliseconds(Clock::now() - begun);
    const bool ok = code == abi::Code::kOk;
    std::printf(
        "{\"step\": \"%s\", \"family\": \"%.*s\", \"services\": %u, \"code\": \"%.*s\", \"why\": %s, \"wall_ms\": "
        "%.3f, "
        "\"cpu_ms\": %.3f, \"rss_kib\": %ld, \"writes\": %llu, \"not_programmed\": %zu}\n",
        name, static_cast<int>(name_of(family_).size()), name_of(family_).data(), services_,
        static_cast<int>(name_of(code).size()), name_of(code).data(), json_text(ok ? "" : subject.why()).c_str(), wall,
        cpu_milliseconds() - cpu, resident_kib(), static_cast<unsigned long long>(applies ? subject.writes() : 0),
        subject.host().take_not_programmed().size());
    std::fflush(stdout);
    return code;
  }

 private:
  abi::Family family_;
  std::uint32_t services_;
};

abi::Code apply_with_retries(Subject& subject, const abi::Transaction& transaction) {
  for (int i = 1;; ++i) {
    const abi::Code code = subject.apply(transaction);
    if (code != abi::Code::kRetry || i == kMaxAttempts) return code;
    std::this_thread::sleep_for(std::chrono::seconds(1));  // fixed time: the daemon's retry interval
  }
}

}  // namespace

int cost(const std::string& file, const std::string& state_dir, abi::Family family, std::uint32_t services) {
  const Plugin plugin(file);
  Services all(family, services);
  Report report(family, services);
  Subject subject(plugin, family, state_dir);
  const auto created = [&] { return subject.create_code(); };
  if (report.step("create", subject, created, false) != abi::Code::kOk) return 0;
  const auto probed = [&] { return subject.probe(); };
  if (report.step("probe", subject, probed, false) != abi::Code::kOk) return 0;
  std::uint64_t generation = 1;
  const auto full = [&] { return apply_with_retries(subject, all.full(generation)); };
  if (report.step("full", subject, full) != abi::Code::kOk) return 0;
  ++generation;
  report.step("same", subject, full);
  if (plugin.has(abi::kFeatureDelta)) {
    // Several deltas with one Service each, spread over all Services; the kit uses the shortest time.
    for (std::uint32_t i = 0; i < kDeltas; ++i) {
      const std::uint32_t at = services / (kDeltas + 1) * (i + 1);
      all.change(at, 1);
      const auto one = [&] { return apply_with_retries(subject, all.delta(generation, at, 1)); };
      if (report.step("delta-1", subject, one) == abi::Code::kOk) ++generation;
    }
    const std::uint32_t many = std::min(100u, services);
    all.change(0, many);
    const auto hundred = [&] { return apply_with_retries(subject, all.delta(generation, 0, many)); };
    if (report.step("delta-100", subject, hundred) == abi::Code::kOk) ++generation;
  }
  report.step("verify", subject, [&] { return subject.verify(); }, false);
  subject.release();
  Subject again(plugin, family, state_dir);
  if (again.created()) {
    generation = 1;
    again.probe();
    report.step("restart", again, [&] { return apply_with_retries(again, all.full(generation)); });
    again.release();
  }
  Subject last(plugin, family, state_dir);
  if (last.created()) report.step("cleanup", last, [&] { return last.cleanup(); }, false);
  return 0;
}

}  // namespace conformance

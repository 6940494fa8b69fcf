// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// corescale: how the cost of the core grows with the cluster. Drives it without a daemon, a source and a backend, and
// measures CPU time and heap memory at three sizes of each path. The exponent of the power law that fits must not
// exceed kMostExponent, and bytes for each endpoint and Service have bounds. From the exponent of CPU time, what caches
// add is subtracted: the exponent of one random access to as much memory.
//   corescale [--full] [--path WORD] [--runs MOST]
// Prints TAP; comments have what was measured. Without --full, the sizes are smaller.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "core/base/memory.hpp"
#include "corescale_cost.hpp"
#include "corescale_paths.hpp"

namespace corescale {
namespace {

// n log n has about 1.1 at these sizes, n^2 has 2.
constexpr double kMostExponent = 1.1;
// Other processes only add to CPU time, so the least of some runs is compared. As long as an exponent is above the
// bound, more runs follow: those of a quadratic path converge to 2.
constexpr int kFewestRuns = 2;
constexpr int kMostRuns = 15;
// Of the exponent of CPU time: more than this is never subtracted.
constexpr double kMostForCaches = 0.6;
static_assert(2 - kMostForCaches > kMostExponent, "a quadratic path must fail");
// Shorter phases take less than the clock and the scheduler add.
constexpr double kShortest = 0.0005;

class Tap {
 public:
  void test(const std::string& name, bool good) {
    std::printf("%s %d - %s\n", good ? "ok" : "not ok", ++count_, name.c_str());
    std::fflush(stdout);
    failed_ = failed_ || !good;
  }
  int end() const {
    std::printf("1..%d\n", count_);
    return failed_ ? 1 : 0;
  }

 private:
  int count_ = 0;
  bool failed_ = false;
};

std::string text(double value) {
  char out[64];
  std::snprintf(out, sizeof out, "%.2f", value);
  return out;
}

// One phase at all sizes.
struct Measured {
  std::string name;
  std::vector<std::size_t> sizes;
  std::vector<Cost> costs;    // the least CPU time of all runs
  std::vector<double> reads;  // likewise, memory_cost() of the memory of the path

  double fit(double (*of)(const Cost&)) const {
    std::vector<Point> points;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      points.push_back({static_cast<double>(sizes[i]), std::max(of(costs[i]), 1e-9)});
    }
    return exponent(points);
  }
  double raw_cpu() const {
    return fit([](const Cost& cost) { return std::max(cost.cpu, kShortest); });
  }
  double caches() const {
    std::vector<Point> points;
    for (std::size_t i = 0; i < sizes.size(); ++i) points.push_back({static_cast<double>(sizes[i]), reads[i]});
    return std::clamp(exponent(points), 0.0, kMostForCaches);
  }
  double cpu() const { return raw_cpu() - caches(); }
  double memory() const {
    return std::max({fit([](const Cost& cost) { return static_cast<double>(cost.allocations + 1000); }),
                     fit([](const Cost& cost) { return static_cast<double>(cost.allocated + 100'000); }),
                     fit([](const Cost& cost) { return static_cast<double>(cost.peak + 100'000); })});
  }
};

std::vector<Measured> measure(const Path& path, int most_runs) {
  std::vector<Measured> out;
  for (int run = 0; run < most_runs; ++run) {
    const bool good =
        std::all_of(out.begin(), out.end(), [](const Measured& one) { return one.cpu() <= kMostExponent; });
    if (run >= kFewestRuns && good) break;
    for (std::size_t i = 0; i < path.sizes.size(); ++i) {
      std::vector<Phase> phases = path.run(path.sizes[i]);
      out.resize(phases.size());
      const double read = memory_cost(phases.front().cost.peak);
      for (std::size_t j = 0; j < phases.size(); ++j) {
        Measured& one = out[j];
        one.name = phases[j].name;
        one.sizes = path.sizes;
        one.costs.resize(path.sizes.size());
        const double before = one.costs[i].cpu;
        const double now = phases[j].cost.cpu;
        one.costs[i] = phases[j].cost;
        one.costs[i].cpu = run == 0 ? now : std::min(before, now);
        one.reads.resize(path.sizes.size());
        one.reads[i] = run == 0 ? read : std::min(one.reads[i], read);
      }
    }
  }
  return out;
}

void show(const Path& path, const Measured& one) {
  std::printf("# %s: %s\n", path.name.c_str(), one.name.c_str());
  for (std::size_t i = 0; i < one.sizes.size(); ++i) {
    const Cost& cost = one.costs[i];
    const auto each = [&](double value) { return value / static_cast<double>(one.sizes[i]); };
    std::printf(
        "#   %7zu: %8.2f ms CPU, %6.2f us each; %8.2f allocations, %7.1f bytes allocated, %7.1f peak, %7.1f held "
        "each\n",
        one.sizes[i], cost.cpu * 1e3, each(cost.cpu * 1e6), each(static_cast<double>(cost.allocations)),
        each(static_cast<double>(cost.allocated)), each(static_cast<double>(cost.peak)),
        each(static_cast<double>(cost.growth)));
  }
}

void judge_bytes(const Path& path, const Measured& first, Tap& tap) {
  const Cost& cost = first.costs.back();
  const auto size = static_cast<double>(first.sizes.back());
  const auto one = [&](const char* what, double bytes, double bound) {
    if (bound == 0) return;
    tap.test(path.name + ": " + what + " " + std::to_string(std::lround(bytes)) + " bytes for each " +
                 path.bounds.unit + ", at most " + std::to_string(std::lround(bound)),
             bytes <= bound);
  };
  one("at rest", static_cast<double>(cost.growth) / size, path.bounds.held);
  one("during the first transaction", static_cast<double>(cost.peak) / size, path.bounds.peak);
}

void check(const Path& path, int most_runs, Tap& tap) {
  const std::vector<Measured> measured = measure(path, most_runs);
  for (const Measured& one : measured) {
    show(path, one);
    tap.test(path.name + ": " + one.name + ": CPU time has exponent " + text(one.raw_cpu()) + ", with " +
                 text(one.caches()) + " for caches",
             one.cpu() <= kMostExponent);
    tap.test(path.name + ": " + one.name + ": memory has exponent " + text(one.memory()),
             one.memory() <= kMostExponent);
  }
  judge_bytes(path, measured.front(), tap);
}

// The check finds what it must find.
void check_itself(Tap& tap) {
  for (const Path& path : known_paths()) {
    const Measured one = measure(path, kFewestRuns).at(0);
    const double highest = std::max(one.cpu(), one.memory());
    tap.test("the check of a path " + path.name + ": exponent " + text(highest),
             path.name == "linear" ? highest <= kMostExponent : highest > 1.5);
  }
}

int run(int count, char** words) {
  bool full = false;
  int most_runs = kMostRuns;
  std::string word;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--full") == 0) {
      full = true;
    } else if (std::strcmp(words[i], "--path") == 0 && i + 1 < count) {
      word = words[++i];
    } else if (std::strcmp(words[i], "--runs") == 0 && i + 1 < count) {
      most_runs = std::atoi(words[++i]);
    } else {
      std::fprintf(stderr, "usage: corescale [--full] [--path WORD] [--runs MOST]\n");
      return 2;
    }
  }
  sluice::base::share_one_heap();
  Tap tap;
  if (word.empty()) check_itself(tap);
  for (const Path& path : core_paths(full)) {
    if (path.name.find(word) != std::string::npos) check(path, most_runs, tap);
  }
  return tap.end();
}

}  // namespace
}  // namespace corescale

int main(int count, char** words) {
  try {
    return corescale::run(count, words);
  } catch (const std::exception& error) {
    std::printf("Bail out! %s\n", error.what());
    return 1;
  }
}

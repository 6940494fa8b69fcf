// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// corescale: how the cost of the core grows with the cluster. Drives it without a daemon, a source and a backend, at three
// sizes of each path. The exponent of the power law that fits must not exceed kMostExponent, and bytes for each endpoint
// and Service have bounds.
//   corescale [--full] [--path WORD]                 heap memory; CPU time is printed only, because caches and other
//                                                    programs change it
//   corescale --instructions [--full] [--path WORD]  instructions, which valgrind counts: it is in PATH
// Prints TAP; comments have what was measured. Without --full, the sizes are smaller.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "core/base/memory.hpp"
#include "corescale_cost.hpp"
#include "corescale_instructions.hpp"
#include "corescale_paths.hpp"

namespace corescale {
namespace {

// n log n has about 1.1 at these sizes, n^2 has 2.
constexpr double kMostExponent = 1.1;
// What a path costs without any object, about.
constexpr double kFixedInstructions = 100'000;
constexpr double kFixedAllocations = 1000;
constexpr double kFixedBytes = 100'000;

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
  std::vector<Cost> costs;

  double fit(double (*of)(const Cost&)) const {
    std::vector<Point> points;
    for (std::size_t i = 0; i < sizes.size(); ++i) points.push_back({static_cast<double>(sizes[i]), of(costs[i])});
    return exponent(points);
  }
  double instructions() const {
    return fit([](const Cost& cost) { return static_cast<double>(cost.instructions) + kFixedInstructions; });
  }
  double memory() const {
    return std::max({fit([](const Cost& cost) { return static_cast<double>(cost.allocations) + kFixedAllocations; }),
                     fit([](const Cost& cost) { return static_cast<double>(cost.allocated) + kFixedBytes; }),
                     fit([](const Cost& cost) { return static_cast<double>(cost.peak) + kFixedBytes; })});
  }
};

std::vector<Measured> measure(const Path& path) {
  std::vector<Measured> out;
  for (const std::size_t size : path.sizes) {
    std::vector<Phase> phases = path.run(size);
    out.resize(phases.size());
    for (std::size_t i = 0; i < phases.size(); ++i) {
      out[i].name = phases[i].name;
      out[i].sizes = path.sizes;
      out[i].costs.push_back(phases[i].cost);
    }
  }
  return out;
}

void show(const Path& path, const Measured& one) {
  std::printf("# %s: %s\n", path.name.c_str(), one.name.c_str());
  for (std::size_t i = 0; i < one.sizes.size(); ++i) {
    const Cost& cost = one.costs[i];
    const auto each = [&](double value) { return value / static_cast<double>(one.sizes[i]); };
    if (counts_instructions()) {
      std::printf("#   %7zu: %8.2f million instructions, %8.0f each\n", one.sizes[i],
                  static_cast<double>(cost.instructions) * 1e-6, each(static_cast<double>(cost.instructions)));
      continue;
    }
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

void check(const Path& path, Tap& tap) {
  const std::vector<Measured> measured = measure(path);
  for (const Measured& one : measured) {
    show(path, one);
    const double found = counts_instructions() ? one.instructions() : one.memory();
    tap.test(path.name + ": " + one.name + (counts_instructions() ? ": instructions have" : ": memory has") +
                 " exponent " + text(found),
             found <= kMostExponent);
  }
  if (!counts_instructions()) judge_bytes(path, measured.front(), tap);
}

// The check finds what it must find. Copies of memory take few instructions.
void check_itself(Tap& tap) {
  const std::string quadratic = counts_instructions() ? "quadratic in time" : "quadratic in allocated bytes";
  for (const Path& path : known_paths()) {
    if (path.name != "linear" && path.name != quadratic) continue;
    const Measured one = measure(path).at(0);
    const double found = counts_instructions() ? one.instructions() : one.memory();
    tap.test("the check of a path " + path.name + ": exponent " + text(found),
             path.name == quadratic ? found > 1.5 : found <= kMostExponent);
  }
}

int run(int count, char** words) {
  bool full = false;
  bool instructions = false;
  std::string word;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--full") == 0) {
      full = true;
    } else if (std::strcmp(words[i], "--instructions") == 0) {
      instructions = true;
    } else if (std::strcmp(words[i], "--path") == 0 && i + 1 < count) {
      word = words[++i];
    } else {
      std::fprintf(stderr, "usage: corescale [--instructions] [--full] [--path WORD]\n");
      return 2;
    }
  }
  if (instructions && !counts_instructions()) return run_counted(words);
  sluice::base::share_one_heap();
  Tap tap;
  if (word.empty()) check_itself(tap);
  for (const Path& path : core_paths(full, instructions)) {
    if (path.name.find(word) != std::string::npos) check(path, tap);
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

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Replays existing inputs and prints TAP: without arguments all targets with their corpora,
// with FUZZ_TARGET=NAME one target with the given files. A finding aborts the program; the
// last line of standard error names the input.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "lib/files.hpp"
#include "test/fuzz/target.hpp"

namespace {

namespace fs = std::filesystem;
using sluice::fuzz::Target;

constexpr std::size_t kLargestInput = 1u << 20;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Returns an error of reading the files; empty if there was none.
std::string replay(const Target& target, const std::vector<fs::path>& files) {
  if (files.empty()) return "there is no input";
  for (const fs::path& file : files) {
    const auto input = sluice::lib::read_file(file.string(), kLargestInput);
    if (!input) return input.status().message();
    // Printed before the call, because a failing target does not return.
    std::fprintf(stderr, "%s: %s\n", target.name.data(), file.c_str());
    target.run(*input);
  }
  return {};
}

bool report(int number, const Target& target, const std::vector<fs::path>& files) {
  const std::string wrong = replay(target, files);
  std::printf("%s %d - %s over %zu inputs\n", wrong.empty() ? "ok" : "not ok", number, target.name.data(),
              files.size());
  if (!wrong.empty()) std::printf("# %s\n", wrong.c_str());
  std::fflush(stdout);
  return wrong.empty();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const name = std::getenv("FUZZ_TARGET");
  bool passed = true;
  int number = 0;
  if (name != nullptr) {
    const Target* const target = sluice::fuzz::find_target(name);
    if (target == nullptr) {
      std::fprintf(stderr, "fuzz_targets: there is no target called '%s'\n", name);
      return 2;
    }
    passed = report(++number, *target, {argv + 1, argv + argc});
  } else {
    const char* const tests = std::getenv("SLUICE_TEST_DATA");
    const fs::path corpus = fs::path(tests == nullptr ? "test" : tests) / "fuzz" / "corpus";
    for (const Target& target : sluice::fuzz::targets()) {
      passed = report(++number, target, files_below(corpus / target.name)) && passed;
    }
  }
  std::printf("1..%d\n", number);
  return passed ? 0 : 1;
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// libFuzzer's entry points. FUZZ_TARGET=NAME fuzz_targets [options of libFuzzer] [folders]
#include <cstdio>
#include <cstdlib>

#include "test/fuzz/target.hpp"

namespace {

const sluice::fuzz::Target& chosen_target() {
  const char* const name = std::getenv("FUZZ_TARGET");
  if (name != nullptr) {
    if (const auto* found = sluice::fuzz::find_target(name)) return *found;
  }
  std::fprintf(stderr, "fuzz_targets: set FUZZ_TARGET to one of:");
  for (const auto& target : sluice::fuzz::targets()) std::fprintf(stderr, " %s", target.name.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  chosen_target();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sluice::fuzz::Target& target = chosen_target();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}

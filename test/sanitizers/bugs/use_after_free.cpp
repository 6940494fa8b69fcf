// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deliberately wrong: reads memory that was given back.
#include <memory>

int main() {
  auto number = std::make_unique<volatile int>(1);
  volatile int* const kept = number.get();
  number.reset();
  return *kept == 1 ? 0 : 1;
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a test program checks beside its tests; test/unit/main.cpp calls it.
#pragma once

#include <string>

namespace sluice::test {

struct TestWatch {
  void (*begin)() = nullptr;                              // before each test
  std::string (*end)(const std::string& name) = nullptr;  // after it; returns why the test fails, empty if it does not
};

// Set before main() by a file of the program; otherwise empty.
inline TestWatch test_watch;

}  // namespace sluice::test

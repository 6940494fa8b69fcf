// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deliberately wrong: two threads write the same number without a lock.
#include <thread>

int main() {
  int number = 0;
  const auto count = [&number] {
    for (int i = 0; i < 1000; ++i) ++number;
  };
  std::thread one(count), other(count);
  one.join();
  other.join();
  return number == 0 ? 1 : 0;
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deliberately wrong: the memory is unreachable at exit.
int main() {
  volatile int* lost = new int(1);
  const int value = *lost;
  lost = nullptr;
  return value - 1;
}

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Deliberately wrong: nobody owns the memory at the end.
int main() {
  volatile int* lost = new int(1);
  const int seen = *lost;
  lost = nullptr;
  return seen - 1;
}

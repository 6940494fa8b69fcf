// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Nothing is wrong here.
int main() { return 0; }

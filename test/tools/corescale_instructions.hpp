// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Counts the instructions of this process, of all threads, with valgrind's callgrind. Without it the functions that count
// do nothing. Other programs and caches do not change the number, as they change CPU time.
#pragma once

#include <cstdint>

namespace corescale {

bool counts_instructions();

// Runs this program again with the same words under callgrind, and returns its exit status. Throws std::exception if
// valgrind cannot run.
int run_counted(char** words);

void begin_counting();
// The number since begin_counting().
std::uint64_t end_counting();

}  // namespace corescale

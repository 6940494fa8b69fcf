// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/memory.hpp"

#include <malloc.h>

namespace sluice::base {

void share_one_heap() {
  mallopt(M_ARENA_MAX, 1);
  // Left alone, the threshold rises with the first large buffer, and later ones stay in the heap when freed.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 2 << 20);
}

void release_free_memory() {
  // The library's heap must not come to life on a thread just because it is to be trimmed.
  if (kOwnHeap) malloc_trim(0);
}

}  // namespace sluice::base

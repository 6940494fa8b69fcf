// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/memory.hpp"

#include <malloc.h>

namespace sluice::base {

void share_one_heap() {
  mallopt(M_ARENA_MAX, 1);
  // Fixed, because glibc otherwise raises the threshold when a large buffer is freed, and later buffers stay in the
  // heap.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 2 << 20);
}

void release_free_memory() {
  // With a sanitizer, malloc_trim() would only initialize the unused heap of the C library.
  if (kOwnHeap) malloc_trim(0);
}

}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Limits resident memory. Work comes in bursts (an initial list, a full transaction), followed by hours of little work.
#pragma once

namespace sluice::base {

// Whether malloc() is the C library's: sanitizers replace it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kOwnHeap = false;
#elif defined(__has_feature)  // clang
inline constexpr bool kOwnHeap = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kOwnHeap = true;
#endif

// Makes all threads share one malloc arena, so that memory freed by one thread can be reused by another. Large buffers
// get their own mappings, which free() returns to the system. Must be called before the first thread starts.
void share_one_heap();

// Returns free heap pages to the system. Any thread; takes milliseconds.
void release_free_memory();

}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the process keeps resident. Work comes in bursts here (a first list, a full
// transaction) and is followed by hours of next to nothing.
#pragma once

namespace sluice::base {

// Whether the heap is the C library's: sanitizers bring one of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kOwnHeap = false;
#elif defined(__has_feature)  // clang's way to say it
inline constexpr bool kOwnHeap = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kOwnHeap = true;
#endif

// Call before the first thread: one heap for all of them. They seldom allocate at the
// same time, and what one has freed can serve the others. Large buffers are mappings of
// their own, which freeing gives back.
void share_one_heap();

// Gives the heap's free pages back to the system. Any thread; takes milliseconds.
void release_free_memory();

}  // namespace sluice::base

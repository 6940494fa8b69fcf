// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/memory.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace sluice::base {
namespace {

// Every loaded file's segments that cannot have been written to.
int unmap_clean_segments(dl_phdr_info* file, std::size_t, void* page_size) {
  const auto page = *static_cast<const std::uintptr_t*>(page_size);
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = file->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (file->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = file->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // Refused for the kernel's own mapping (vdso); nothing is lost by that.
    static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
  }
  return 0;
}

}  // namespace

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

void release_startup_pages() {
  auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  dl_iterate_phdr(&unmap_clean_segments, &page);
}

}  // namespace sluice::base

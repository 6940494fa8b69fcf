// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "corescale_cost.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <new>
#include <vector>

#include "core/base/memory.hpp"
#include "corescale_instructions.hpp"

namespace {

// What malloc() needs for itself before each block.
constexpr std::size_t kHeader = sizeof(std::size_t);

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> allocated{0};
std::atomic<std::size_t> held{0};
std::atomic<std::size_t> peak{0};

void* counted(void* block) noexcept {
  if (block == nullptr) return nullptr;
  const std::size_t size = malloc_usable_size(block) + kHeader;
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated.fetch_add(size, std::memory_order_relaxed);
  const std::size_t now = held.fetch_add(size, std::memory_order_relaxed) + size;
  std::size_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
  return block;
}

void* counted_or_throw(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return counted(block);
}

void release(void* block) noexcept {
  if (block != nullptr) held.fetch_sub(malloc_usable_size(block) + kHeader, std::memory_order_relaxed);
  std::free(block);
}

void* aligned(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(to, (size + to - 1) / to * to);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void* operator new(std::size_t size) { return counted_or_throw(std::malloc(std::max<std::size_t>(size, 1))); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(std::malloc(std::max<std::size_t>(size, 1)));
}
void* operator new(std::size_t size, std::align_val_t to) { return counted_or_throw(aligned(size, to)); }
void* operator new(std::size_t size, std::align_val_t to, const std::nothrow_t&) noexcept {
  return counted(aligned(size, to));
}
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }

namespace corescale {

void settle_heap() {
  sluice::base::release_free_memory();
  // Each call sorts at most 10,000 blocks.
  std::array<void*, 100> blocks{};
  for (void*& block : blocks) block = std::malloc(100'000);
  for (void* block : blocks) std::free(block);
}

Meter::Meter() : cpu_(0), allocations_(allocations), allocated_(allocated), held_(held) {
  peak = held_;
  cpu_ = cpu_seconds();
  begin_counting();
}

Cost Meter::read() const {
  Cost out;
  out.instructions = end_counting();
  out.cpu = cpu_seconds() - cpu_;
  out.allocations = allocations - allocations_;
  out.allocated = allocated - allocated_;
  out.peak = peak - held_;
  out.growth = static_cast<std::int64_t>(held) - static_cast<std::int64_t>(held_);
  return out;
}

double exponent(const std::vector<Point>& points) {
  double mean_x = 0;
  double mean_y = 0;
  for (const Point& point : points) {
    mean_x += std::log(point.size) / static_cast<double>(points.size());
    mean_y += std::log(point.cost) / static_cast<double>(points.size());
  }
  double up = 0;
  double along = 0;
  for (const Point& point : points) {
    const double x = std::log(point.size) - mean_x;
    up += x * (std::log(point.cost) - mean_y);
    along += x * x;
  }
  return up / along;
}

}  // namespace corescale

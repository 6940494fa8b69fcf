// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A pool of pipes for splice().
#pragma once

#include <cstddef>
#include <memory>

#include "lib/fd.hpp"
#include "plugins/userspace/balancer/balancer.hpp"
#include "plugins/userspace/relay/statistics.hpp"

namespace sluice::userspace {

struct Pipe {
  lib::Fd read_end;
  lib::Fd write_end;
  std::size_t capacity = 0;
  std::unique_ptr<Pipe> next;  // in the pool
};

// Used by one thread. Throws nothing.
class PipePool {
 public:
  // `open` outlives the pool and counts the open pipes.
  PipePool(std::size_t bytes, Counter& open) noexcept : bytes_(bytes), open_(open) {}
  ~PipePool() { clear(); }
  PipePool(const PipePool&) = delete;
  PipePool& operator=(const PipePool&) = delete;

  // Null if no pipe can be opened; then it is not tried again for a while.
  std::unique_ptr<Pipe> take(Nanoseconds now) noexcept;
  // REQUIRES: `pipe` is empty
  void give_back(std::unique_ptr<Pipe> pipe) noexcept;
  // Closes a pipe that may hold data.
  void discard(std::unique_ptr<Pipe> pipe) noexcept;

  // Closes all pipes in the pool, when descriptors are short.
  void clear() noexcept;
  // Closes pipes that were not needed since the last call. Called every few seconds.
  void trim() noexcept;
  std::size_t kept() const noexcept { return kept_; }

 private:
  std::unique_ptr<Pipe> pop() noexcept;

  const std::size_t bytes_;
  Counter& open_;
  std::unique_ptr<Pipe> free_;
  std::size_t kept_ = 0;
  std::size_t fewest_kept_ = 0;  // since the last trim()
  Nanoseconds not_before_ = 0;
};

}  // namespace sluice::userspace

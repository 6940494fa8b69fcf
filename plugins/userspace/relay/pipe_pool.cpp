// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/pipe_pool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace sluice::userspace {
namespace {

constexpr Nanoseconds kPatience = 1'000'000'000;
constexpr std::size_t kSmallest = 65536;

// Sets the capacity as close to `wanted` as the limits allow.
std::size_t resize(int fd, std::size_t wanted) noexcept {
  for (;; wanted /= 2) {
    const int granted = fcntl(fd, F_SETPIPE_SZ, static_cast<int>(wanted));
    if (granted > 0) return static_cast<std::size_t>(granted);
    if (wanted <= kSmallest) break;
  }
  const int present = fcntl(fd, F_GETPIPE_SZ);
  return present > 0 ? static_cast<std::size_t>(present) : 4096;
}

}  // namespace

std::unique_ptr<Pipe> PipePool::pop() noexcept {
  std::unique_ptr<Pipe> pipe = std::move(free_);
  free_ = std::move(pipe->next);
  --kept_;
  fewest_kept_ = std::min(fewest_kept_, kept_);
  return pipe;
}

std::unique_ptr<Pipe> PipePool::take(Nanoseconds now) noexcept {
  if (free_ != nullptr) return pop();
  if (now < not_before_) return nullptr;
  int fds[2];
  std::unique_ptr<Pipe> pipe(new (std::nothrow) Pipe);
  if (pipe == nullptr || pipe2(fds, O_NONBLOCK | O_CLOEXEC) != 0) {
    not_before_ = now + kPatience;
    return nullptr;
  }
  pipe->read_end = lib::Fd(fds[0]);
  pipe->write_end = lib::Fd(fds[1]);
  pipe->capacity = resize(fds[1], bytes_);
  open_.add();
  return pipe;
}

void PipePool::give_back(std::unique_ptr<Pipe> pipe) noexcept {
  pipe->next = std::move(free_);
  free_ = std::move(pipe);
  ++kept_;
}

void PipePool::discard(std::unique_ptr<Pipe> pipe) noexcept {
  if (pipe == nullptr) return;
  pipe.reset();
  open_.subtract();
}

void PipePool::clear() noexcept {
  while (free_ != nullptr) discard(pop());
}

void PipePool::trim() noexcept {
  for (std::size_t surplus = std::min(fewest_kept_, kept_); surplus > 0; --surplus) discard(pop());
  fewest_kept_ = kept_;
}

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A copy of this process that continues to relay established connections after the daemon has ended. fork() copies the
// relays as they are, with the bytes that they hold; the threads must not run meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <set>

namespace sluice::userspace {

struct DrainWork {
  std::set<int> sockets;        // of the connections; every other socket is closed
  std::function<void()> start;  // starts the threads again
  std::function<bool()> done;   // no connection is left
  std::chrono::milliseconds timeout;
};

// False: this process cannot be outlived (process 1 of a container), or fork() failed. Does not return in the new
// process, which uses no other thread, lock or log of this one.
bool drain_in_new_process(const DrainWork& work) noexcept;

}  // namespace sluice::userspace

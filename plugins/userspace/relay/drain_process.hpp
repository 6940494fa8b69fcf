// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A copy of this process that continues to relay established connections after the daemon has ended. fork() copies the
// relays as they are, with the bytes that they hold; the threads must not run meanwhile.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <set>
#include <string_view>

namespace sluice::userspace {

struct DrainWork {
  std::set<int> sockets;        // of the connections; every other socket is closed
  std::function<void()> start;  // starts the threads again
  std::function<bool()> done;   // no connection is left
  std::chrono::milliseconds timeout;
};

// Whether a process that this one starts can outlive it: not with process 1 of a container, nor in a service of
// systemd, which waits for all its processes and then kills them. `cgroups` is the content of /proc/self/cgroup.
bool can_be_outlived(pid_t process, std::string_view cgroups);
bool can_be_outlived();

// False: fork() failed. Does not return in the new process, which uses no other thread, lock or log of this one.
bool drain_in_new_process(const DrainWork& work) noexcept;

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A copy of this process that continues to relay established connections after the daemon has ended. fork() copies the
// relays as they are, with the bytes that they hold; the threads must not run meanwhile.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
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

struct Surroundings {
  pid_t process;                     // process ID of the daemon
  std::string_view cgroups;          // content of /proc/self/cgroup
  std::string_view cgroups_of_init;  // of /proc/1/cgroup
  std::string_view environment;      // of /proc/self/environ, which still has variables that the daemon removed
};
// Whether a process that the daemon starts can outlive it: not with process 1 of a container, nor in a container that
// shares the process IDs of the node, nor under a service manager. These kill all processes of a container or service.
bool can_be_outlived(const Surroundings& daemon);
bool can_be_outlived();

// False: fork() failed. Does not return in the new process, which uses no other thread, lock or log of this one.
bool drain_in_new_process(const DrainWork& work) noexcept;

// Ends such processes of earlier daemons in the network namespace of this thread, and returns their number.
std::size_t end_drain_processes();

}  // namespace sluice::userspace

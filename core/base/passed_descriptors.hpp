// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// File descriptors passed by the service manager with the sd_listen_fds(3) protocol, including those of its descriptor
// store.
#pragma once

#include <string>
#include <vector>

#include "lib/fd.hpp"

namespace sluice::base {

struct PassedDescriptor {
  std::string name;  // from LISTEN_FDNAMES; empty if the manager passed none
  lib::Fd fd;        // close-on-exec
};

// Takes ownership of the descriptors and removes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment, so
// that child processes do not use them. Returns nothing if they are for another process. Must be called once, before
// threads start and before any file is opened: the descriptors are identified by number alone.
std::vector<PassedDescriptor> take_passed_descriptors();

}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Descriptors the service manager starts this process with, in the protocol of
// sd_listen_fds(3): those it kept for an earlier process among them.
#pragma once

#include <string>
#include <vector>

#include "core/base/fd.hpp"

namespace sluice::base {

struct PassedDescriptor {
  std::string name;  // as the manager has it; empty when it said none
  Fd fd;             // close-on-exec
};

// Takes them over and LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES out of the environment, so
// that no program we start takes them for its own. Nothing when they are for another
// process. To be called once, before there are threads and before anything is opened: which
// descriptors are meant is told by their number alone.
std::vector<PassedDescriptor> take_passed_descriptors();

}  // namespace sluice::base

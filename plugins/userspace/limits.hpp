// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What a process that relays needs of its node: file descriptors, and ports that become
// free again. Done once in a process, before the first socket is opened.
#pragma once

#include "sluice/sdk/logger.hpp"

namespace sluice::userspace {

// Raises the limit of open files as far as this process may, and lets the kernel use ports again whose connection
// is closing. One line with the result, one warning for what could not be done; silent when it was done before.
void raise_limits(const sdk::Logger& log);

}  // namespace sluice::userspace

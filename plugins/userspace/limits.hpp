// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Limits of the process and the node that the relay needs raised. Done once per process, before the
// first socket is opened.
#pragma once

#include "sluice/sdk/logger.hpp"

namespace sluice::userspace {

// Raises RLIMIT_NOFILE as far as this process may, and sets tcp_tw_reuse. Logs the result and a warning for each
// failure; does nothing on later calls.
void raise_limits(const sdk::Logger& log);

}  // namespace sluice::userspace

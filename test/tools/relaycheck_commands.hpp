// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sub-commands of relaycheck. Each receives its arguments and returns the exit status.
#pragma once

#include <string>
#include <vector>

namespace relaycheck {

int serve(const std::vector<std::string>& words);
int connect(const std::vector<std::string>& words);

}  // namespace relaycheck

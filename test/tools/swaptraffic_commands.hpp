// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The commands of swaptraffic; each returns the exit status.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace swaptraffic {

extern volatile std::sig_atomic_t stop_requested;
extern volatile std::sig_atomic_t progress_requested;

int serve(const std::vector<std::string>& words);
int run(const std::vector<std::string>& words);

}  // namespace swaptraffic

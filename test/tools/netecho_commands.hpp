// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sub-commands of netecho. Each takes the words after its name and returns the exit status.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace netecho {

int serve(const std::vector<std::string>& words);
int ask(const std::vector<std::string>& words);
int hammer(const std::vector<std::string>& words);
int hold(const std::vector<std::string>& words);
int plan(const std::vector<std::string>& words);

// Set by SIGTERM and SIGINT; the long-running commands end in good order when they see it.
extern volatile std::sig_atomic_t stop_requested;

}  // namespace netecho

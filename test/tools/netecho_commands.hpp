// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The sub-commands of netecho. Each receives its arguments and returns the exit status.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace netecho {

int serve(const std::vector<std::string>& words);
int ask(const std::vector<std::string>& words);
int ask_each(const std::vector<std::string>& words);
int hammer(const std::vector<std::string>& words);
int hold(const std::vector<std::string>& words);
int plan(const std::vector<std::string>& words);

// Set by SIGTERM and SIGINT; long-running commands check it and end normally.
extern volatile std::sig_atomic_t stop_requested;

}  // namespace netecho

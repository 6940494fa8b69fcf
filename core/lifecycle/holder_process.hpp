// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The process of the descriptor holder: `sluiced --descriptor-holder SOCKET MILLISECONDS`, a private option.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "lib/status.hpp"

namespace sluice::lifecycle {

// Starts the holder and returns when it listens at `path`. It is no child of this process, and has its own session, no
// terminal and no other descriptors of this process.
lib::Status start_holder(const std::string& path, std::chrono::milliseconds timeout);

// The holder for daemons that cannot start one, such as those that are process 1 of a container: keeps descriptors of
// any number of daemons, one after the other, until SIGTERM. Returns only an error.
lib::Status hold_in_foreground(const std::string& path);

// [main thread, before any other] Nothing unless the arguments, which begin with the name of the program, are those of
// start_holder(); otherwise the exit status, when the holder has started.
std::optional<int> run_holder(std::span<char*> arguments);

}  // namespace sluice::lifecycle

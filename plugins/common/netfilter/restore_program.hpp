// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// How iptables-restore is called, and what it means when it fails. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "plugins/common/netfilter/tools.hpp"
#include "plugins/common/process/command.hpp"

namespace sluice::netfilter {

// One iptables-restore --noflush that waits for the lock as far as this version can, with
// more time for more lines. `input` outlives the command.
process::Command restore_command(const Tools& tools, std::string_view input);

// What went wrong with a program, in one sentence without line feeds.
std::string explain(const std::string& program, const process::Outcome& outcome);

}  // namespace sluice::netfilter

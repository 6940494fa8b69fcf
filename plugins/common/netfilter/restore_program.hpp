// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command lines of iptables-restore, and the text of its failures. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "lib/program.hpp"
#include "plugins/common/netfilter/tools.hpp"

namespace sluice::netfilter {

// An iptables-restore --noflush that waits for the lock if this version can. Its timeout grows
// with the number of lines. `input` outlives the command.
lib::Program restore_command(const Tools& tools, std::string_view input);

// Describes the failure of a program in one sentence without newlines.
std::string explain(const std::string& program, const lib::ProgramResult& outcome);

}  // namespace sluice::netfilter

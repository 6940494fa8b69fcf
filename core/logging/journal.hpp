// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Priorities of log lines for systemd's journal. Without them, journalctl --priority finds no line.
#pragma once

#include <string_view>

#include "core/base/log.hpp"

namespace sluice::logging {

// Whether the descriptor is the stream to the journal that the variable JOURNAL_STREAM names (systemd.exec(5)).
bool writes_to_journal(int fd);

// What the journal removes from the start of a line (sd-daemon(3)): "<4>" for a warning.
std::string_view journal_priority(base::LogLevel level);

}  // namespace sluice::logging

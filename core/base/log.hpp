// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one door to the log. Levels: error = needs a person, warning = degraded,
// info = life events, debug = flow (shown from verbosity 4 up). Any thread.
// Where lines go and how they look is set in core/daemon/logging.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::base {

enum class LogLevel { error, warning, info, debug };

// `component` is the folder of core/ or "plugin.<id>".
void log(LogLevel level, std::string_view component, std::string_view text);
bool log_enabled(LogLevel level, std::string_view component);
// Lines written since the start, without those nobody was to see.
std::uint64_t log_lines(LogLevel level);

inline void log_error(std::string_view component, std::string_view text) { log(LogLevel::error, component, text); }
inline void log_warning(std::string_view component, std::string_view text) { log(LogLevel::warning, component, text); }
inline void log_info(std::string_view component, std::string_view text) { log(LogLevel::info, component, text); }
inline void log_debug(std::string_view component, std::string_view text) { log(LogLevel::debug, component, text); }

}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Logging. Levels: error = needs an operator, warning = degraded, info = lifecycle events, debug = details (shown from
// verbosity 4). Thread-safe. core/logging configures the output and its format.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::base {

enum class LogLevel { error, warning, info, debug };

// `component` is the folder of core/ or "plugin.<id>".
void log(LogLevel level, std::string_view component, std::string_view text);
bool log_enabled(LogLevel level, std::string_view component);
// Lines written since the start. Lines below the configured level do not count.
std::uint64_t log_lines(LogLevel level);

inline void log_error(std::string_view component, std::string_view text) { log(LogLevel::error, component, text); }
inline void log_warning(std::string_view component, std::string_view text) { log(LogLevel::warning, component, text); }
inline void log_info(std::string_view component, std::string_view text) { log(LogLevel::info, component, text); }
inline void log_debug(std::string_view component, std::string_view text) { log(LogLevel::debug, component, text); }

}  // namespace sluice::base

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Where log lines go and how they look. The only place that configures log4cplus.
// One record is one line on standard error, whatever the text contains; with a split
// stream info and debug lines go to standard output, and may wait in a buffer there.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/base/log.hpp"
#include "core/config/settings.hpp"

namespace sluice::daemon {

// May be called again while others log: each line is written, and whole. What set_verbosity() said is forgotten then.
// REQUIRES: one thread at a time.
void set_up_logging(const config::LogSettings& settings);

// [any thread] Another verbosity from now on, as PUT /debug/flags/v asks for.
void set_verbosity(int verbosity);

// [any thread] Writes out what waits. To be called before the process ends.
void flush_logging();

// Whether `name` is what `pattern` says; * stands for any letters, ? for one.
bool matches_pattern(std::string_view name, std::string_view pattern);

struct LogRecord {
  base::LogLevel level = base::LogLevel::info;
  std::string component;
  std::string text;
  std::chrono::system_clock::time_point time;
  int process_id = 0;
};

// The layout of klog, local time: "I1121 02:41:00.123456   12345 store] text". The
// component stands where klog has the source file. Debug lines carry "I" as there.
std::string text_line(const LogRecord& record);

// One JSON object with the fields of Kubernetes' JSON logs: ts (milliseconds), level,
// component, pid, msg, and v (0, or 4 for debug; absent for warnings and errors).
std::string json_line(const LogRecord& record);

}  // namespace sluice::daemon

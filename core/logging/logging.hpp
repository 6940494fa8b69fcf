// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Format and destination of log lines. The only file that configures log4cplus. Each record
// is one line on standard error, even if the text has newlines; with a split stream, info
// and debug lines go to standard output, and may be buffered.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/base/log.hpp"
#include "core/config/settings.hpp"

namespace sluice::logging {

// May be called again while other threads log; no line is lost or torn. Resets the verbosity of set_verbosity().
// REQUIRES: one thread at a time.
void set_up_logging(const config::LogSettings& settings);

// [any thread] Sets the verbosity, for PUT /debug/flags/v.
void set_verbosity(int verbosity);

// [any thread] Flushes the buffer. Must be called before the process ends.
void flush_logging();

// Whether `name` matches the glob `pattern`.
bool matches_pattern(std::string_view name, std::string_view pattern);

struct LogRecord {
  base::LogLevel level = base::LogLevel::info;
  std::string component;
  std::string text;
  std::chrono::system_clock::time_point time;
  int process_id = 0;
  base::LogContext context = {};
};

// The format of klog, in local time: "I1121 02:41:00.123456   12345 store] text". The
// component takes the place of the source file. Debug lines have "I", as in klog.
std::string text_line(const LogRecord& record);

// One JSON object with the keys of Kubernetes' JSON logs: ts (milliseconds), level, logger (the component), caller
// (absent for plugins), pid, msg, and v (0, or 4 for debug; absent for warnings and errors); then id, and the keys of
// the message, such as service, family, backend and error.
std::string json_line(const LogRecord& record);

}  // namespace sluice::logging

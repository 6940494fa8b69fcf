// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Logging. Levels: error = needs an operator, warning = degraded, info = lifecycle events, debug = details (shown from
// verbosity 4). Thread-safe. core/logging configures the output and its format; core/base/log_messages.hpp lists all
// messages.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace sluice::base {

enum class LogLevel { error, warning, info, debug };

// A row of the table of messages.
struct LogMessage {
  std::string_view id;  // stable: alerts and log queries may depend on it
  LogLevel level = LogLevel::info;
  std::string_view component;  // the folder of core/

  constexpr LogMessage at(LogLevel other) const { return {id, other, component}; }
};

// A key of a JSON line. Text lines have the value in their text. The text must outlive the call that logs it.
struct LogField {
  LogField(std::string_view name, std::string_view value) : key(name), text(value) {}
  template <std::signed_integral T>
  LogField(std::string_view name, T value) : key(name), kind(Kind::integer), integer(value) {}
  template <std::unsigned_integral T>
  LogField(std::string_view name, T value) : key(name), kind(Kind::natural), natural(value) {}
  LogField(std::string_view name, double value) : key(name), kind(Kind::real), real(value) {}

  enum class Kind { text, integer, natural, real };

  std::string_view key;
  Kind kind = Kind::text;
  std::string_view text;
  union {
    std::int64_t integer = 0;
    std::uint64_t natural;
    double real;
  };
};

// The place of a call. std::source_location is not available in clang before 16.
struct LogCaller {
  const char* file = "";  // static
  int line = 0;

  static constexpr LogCaller here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// What a line has beside its text. Valid during the call that logs it.
struct LogContext {
  std::string_view id;  // empty: of a plugin that gives none
  std::initializer_list<LogField> fields;
  LogCaller caller;
};

// `text` begins with a fixed phrase, for grep.
void log(const LogMessage& message, std::string_view text, std::initializer_list<LogField> fields = {},
         LogCaller caller = LogCaller::here());
// For lines of plugins, whose component is "plugin.<id>".
void log(LogLevel level, std::string_view component, std::string_view text, const LogContext& context = {});
bool log_enabled(LogLevel level, std::string_view component);
inline bool log_enabled(const LogMessage& message) { return log_enabled(message.level, message.component); }
// Lines written since the start. Lines below the configured level do not count.
std::uint64_t log_lines(LogLevel level);

}  // namespace sluice::base

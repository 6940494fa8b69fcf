// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/log.hpp"

#include <log4cplus/logger.h>

#include <array>
#include <atomic>
#include <string>

#include "core/base/log_event.hpp"

namespace sluice::base {
namespace {

log4cplus::LogLevel native(LogLevel level) {
  switch (level) {
    case LogLevel::error: return log4cplus::ERROR_LOG_LEVEL;
    case LogLevel::warning: return log4cplus::WARN_LOG_LEVEL;
    case LogLevel::info: return log4cplus::INFO_LOG_LEVEL;
    case LogLevel::debug: return log4cplus::DEBUG_LOG_LEVEL;
  }
  return log4cplus::ERROR_LOG_LEVEL;
}

std::array<std::atomic<std::uint64_t>, 4> written{};  // by LogLevel

log4cplus::Logger logger(std::string_view component) {
  return log4cplus::Logger::getInstance("sluice." + std::string(component));
}

}  // namespace

void log(const LogMessage& message, std::string_view text, std::initializer_list<LogField> fields, LogCaller caller) {
  log(message.level, message.component, text, {message.id, fields, caller});
}

void log(LogLevel level, std::string_view component, std::string_view text, const LogContext& context) {
  log4cplus::Logger target = logger(component);
  if (!target.isEnabledFor(native(level))) return;
  written[static_cast<std::size_t>(level)].fetch_add(1, std::memory_order_relaxed);
  target.callAppenders(LogEvent(target.getName(), native(level), std::string(text), context));
}

bool log_enabled(LogLevel level, std::string_view component) { return logger(component).isEnabledFor(native(level)); }

std::uint64_t log_lines(LogLevel level) {
  return written[static_cast<std::size_t>(level)].load(std::memory_order_relaxed);
}

}  // namespace sluice::base

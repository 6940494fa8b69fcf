// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/base/log.hpp"

#include <log4cplus/logger.h>
#include <log4cplus/loggingmacros.h>

#include <array>
#include <atomic>
#include <string>

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

void log(LogLevel level, std::string_view component, std::string_view text) {
  const log4cplus::Logger target = logger(component);
  if (!target.isEnabledFor(native(level))) return;
  written[static_cast<std::size_t>(level)].fetch_add(1, std::memory_order_relaxed);
  target.forcedLog(native(level), std::string(text));
}

bool log_enabled(LogLevel level, std::string_view component) { return logger(component).isEnabledFor(native(level)); }

std::uint64_t log_lines(LogLevel level) {
  return written[static_cast<std::size_t>(level)].load(std::memory_order_relaxed);
}

}  // namespace sluice::base

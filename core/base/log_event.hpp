// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// An event of log4cplus with the context of a line, from core/base/log.cpp to the appender of core/logging.
#pragma once

#include <log4cplus/spi/loggingevent.h>

#include "core/base/log.hpp"

namespace sluice::base {

class LogEvent final : public log4cplus::spi::InternalLoggingEvent {
 public:
  // The context must outlive the event, which appenders handle during the call.
  LogEvent(const log4cplus::tstring& logger, log4cplus::LogLevel level, const log4cplus::tstring& text,
           const LogContext& context)
      : InternalLoggingEvent(logger, level, text, nullptr, 0, nullptr), context_(context) {}

  const LogContext& context() const { return context_; }

 private:
  const LogContext& context_;
};

}  // namespace sluice::base

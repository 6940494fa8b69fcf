// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Records log lines during its lifetime, as "LEVEL logger text".
#pragma once

#include <log4cplus/appender.h>
#include <log4cplus/helpers/pointer.h>
#include <log4cplus/logger.h>
#include <log4cplus/loglevel.h>
#include <log4cplus/spi/loggingevent.h>

#include <mutex>
#include <string>
#include <vector>

namespace sluice::test {

class CapturedLog {
 public:
  CapturedLog() : sink_(new Sink), logger_(log4cplus::Logger::getInstance("sluice")), level_(logger_.getLogLevel()) {
    logger_.setLogLevel(log4cplus::DEBUG_LOG_LEVEL);
    logger_.addAppender(log4cplus::SharedAppenderPtr(sink_));
  }
  ~CapturedLog() {
    logger_.removeAppender(log4cplus::SharedAppenderPtr(sink_));
    logger_.setLogLevel(level_);
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::vector<std::string> lines() const { return sink_->lines(); }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) all += line + "\n";
    return all;
  }

 private:
  class Sink final : public log4cplus::Appender {
   public:
    ~Sink() override { destructorImpl(); }
    void close() override { closed = true; }
    std::vector<std::string> lines() const {
      const std::lock_guard lock(lines_mutex_);
      return lines_;
    }

   protected:
    void append(const log4cplus::spi::InternalLoggingEvent& event) override {
      const std::lock_guard lock(lines_mutex_);
      lines_.push_back(log4cplus::getLogLevelManager().toString(event.getLogLevel()) + " " + event.getLoggerName() +
                       " " + event.getMessage());
    }

   private:
    mutable std::mutex lines_mutex_;
    std::vector<std::string> lines_;
  };

  Sink* sink_;  // owned by the pointer below
  log4cplus::SharedAppenderPtr owner_{sink_};
  log4cplus::Logger logger_;
  const log4cplus::LogLevel level_;
};

}  // namespace sluice::test

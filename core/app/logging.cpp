// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/logging.hpp"

#include <log4cplus/consoleappender.h>
#include <log4cplus/initializer.h>
#include <log4cplus/layout.h>
#include <log4cplus/logger.h>
#include <log4cplus/spi/loggingevent.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice::app {
namespace {

constexpr std::string_view kRootName = "sluice";
constexpr int kDebugVerbosity = 4;

// A line feed inside a record would look like a second record, with a header that
// whoever names an object could choose.
std::string on_one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out;
}

char level_letter(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::error: return 'E';
    case base::LogLevel::warning: return 'W';
    case base::LogLevel::info:
    case base::LogLevel::debug: return 'I';
  }
  return 'E';
}

const char* level_name(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::error: return "error";
    case base::LogLevel::warning: return "warning";
    case base::LogLevel::info: return "info";
    case base::LogLevel::debug: return "debug";
  }
  return "error";
}

base::LogLevel from_native(log4cplus::LogLevel level) {
  if (level >= log4cplus::ERROR_LOG_LEVEL) return base::LogLevel::error;
  if (level >= log4cplus::WARN_LOG_LEVEL) return base::LogLevel::warning;
  if (level >= log4cplus::INFO_LOG_LEVEL) return base::LogLevel::info;
  return base::LogLevel::debug;
}

LogRecord to_record(const log4cplus::spi::InternalLoggingEvent& event) {
  std::string_view component = event.getLoggerName();
  if (component.starts_with(kRootName) && component.size() > kRootName.size()) {
    component.remove_prefix(kRootName.size() + 1);
  }
  return {from_native(event.getLogLevel()), std::string(component), event.getMessage(), event.getTimestamp(),
          static_cast<int>(::getpid())};
}

class LineLayout final : public log4cplus::Layout {
 public:
  explicit LineLayout(LogFormat format) : format_(format) {}
  void formatAndAppend(log4cplus::tostream& output, const log4cplus::spi::InternalLoggingEvent& event) override {
    const LogRecord record = to_record(event);
    output << (format_ == LogFormat::json ? json_line(record) : text_line(record)) << '\n';
  }

 private:
  LogFormat format_;
};

}  // namespace

std::string text_line(const LogRecord& record) {
  using namespace std::chrono;
  const std::time_t seconds = system_clock::to_time_t(floor<std::chrono::seconds>(record.time));
  const auto micros = duration_cast<microseconds>(record.time - floor<std::chrono::seconds>(record.time)).count();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char header[64];
  std::snprintf(header, sizeof header, "%c%02d%02d %02d:%02d:%02d.%06ld %7d ", level_letter(record.level),
                local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, static_cast<long>(micros),
                record.process_id);
  return header + on_one_line(record.component) + "] " + on_one_line(record.text);
}

std::string json_line(const LogRecord& record) {
  using namespace std::chrono;
  nlohmann::ordered_json line;
  line["ts"] = static_cast<double>(duration_cast<microseconds>(record.time.time_since_epoch()).count()) / 1000.0;
  line["level"] = level_name(record.level);
  line["component"] = record.component;
  line["pid"] = record.process_id;
  line["msg"] = record.text;
  if (record.level == base::LogLevel::info) line["v"] = 0;
  if (record.level == base::LogLevel::debug) line["v"] = kDebugVerbosity;
  // Text from outside may be no UTF-8; a log line must not fail over it.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void set_up_logging(const LogSettings& settings) {
  log4cplus::initialize();
  log4cplus::Logger root = log4cplus::Logger::getInstance(std::string(kRootName));
  root.setAdditivity(false);
  root.setLogLevel(settings.verbosity >= kDebugVerbosity ? log4cplus::DEBUG_LOG_LEVEL : log4cplus::INFO_LOG_LEVEL);
  const log4cplus::SharedAppenderPtr console(
      new log4cplus::ConsoleAppender(/*logToStdErr=*/true, /*immediateFlush=*/true));
  console->setLayout(std::make_unique<LineLayout>(settings.format));
  root.removeAllAppenders();
  root.addAppender(console);
}

}  // namespace sluice::app

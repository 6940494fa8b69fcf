// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/logging/logging.hpp"

#include <fnmatch.h>
#include <log4cplus/appender.h>
#include <log4cplus/initializer.h>
#include <log4cplus/logger.h>
#include <log4cplus/spi/loggingevent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>

#include "core/base/log_event.hpp"
#include "core/logging/journal.hpp"
#include "lib/files.hpp"
#include "lib/mutex.hpp"
#include "lib/signals_blocked.hpp"
#include "lib/text.hpp"

namespace sluice::logging {
namespace {

constexpr std::string_view kRootName = "sluice";
constexpr int kDebugVerbosity = 4;
constexpr std::chrono::milliseconds kMinFlushInterval{10};

// Escapes newlines, so that an object name cannot forge a second record.
std::string on_one_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\x" + lib::hex_byte(c);
    } else {
      out += c;
    }
  }
  return out;
}

char level_letter(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::error:
      return 'E';
    case base::LogLevel::warning:
      return 'W';
    case base::LogLevel::info:
    case base::LogLevel::debug:
      return 'I';
  }
  return 'E';
}

const char* level_name(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::error:
      return "error";
    case base::LogLevel::warning:
      return "warning";
    case base::LogLevel::info:
      return "info";
    case base::LogLevel::debug:
      return "debug";
  }
  return "error";
}

// The folder and the file, as klog prints it: "sync/sync_loop.cpp:12".
std::string place(const base::LogCaller& caller) {
  std::string_view path = caller.file;
  if (const std::size_t core = path.rfind("core/"); core != std::string_view::npos) path.remove_prefix(core + 5);
  return std::string(path) + ":" + std::to_string(caller.line);
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
  const auto* const ours = dynamic_cast<const base::LogEvent*>(&event);
  return {from_native(event.getLogLevel()),
          std::string(component),
          event.getMessage(),
          event.getTimestamp(),
          static_cast<int>(::getpid()),
          ours != nullptr ? ours->context() : base::LogContext()};
}

// A buffer for info lines, and the thread that flushes it regularly. A failed write of a log line cannot be logged.
class InfoStream {
 public:
  InfoStream(std::size_t size, config::Duration flush_interval)
      : size_(size), flush_interval_(std::max<config::Duration>(flush_interval, kMinFlushInterval)) {
    if (size_ == 0) return;
    const lib::SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  }
  ~InfoStream() {
    {
      const lib::Lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
    flush();
  }
  InfoStream(const InfoStream&) = delete;
  InfoStream& operator=(const InfoStream&) = delete;

  void put(std::string_view line) {
    const lib::Lock lock(mutex_);
    if (buffer_.size() + line.size() > size_) write_buffer();
    if (line.size() > size_) {
      lib::write_all(STDOUT_FILENO, line);
    } else {
      buffer_ += line;
    }
  }
  void flush() {
    const lib::Lock lock(mutex_);
    write_buffer();
  }

 private:
  void write_buffer() SLUICE_REQUIRES(mutex_) {
    lib::write_all(STDOUT_FILENO, buffer_);
    buffer_.clear();
  }
  void run() {
    const lib::Lock lock(mutex_);
    for (;;) {
      const auto until = std::chrono::steady_clock::now() + flush_interval_;
      while (!stopping_ && changed_.wait_until(mutex_, until)) {
      }
      if (stopping_) return;
      write_buffer();
    }
  }

  const std::size_t size_;
  const config::Duration flush_interval_;
  lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  std::string buffer_ SLUICE_GUARDED_BY(mutex_);
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// As in klog, a line is shown if its level is within the verbosity, or within that of a
// matching pattern. log4cplus passes debug lines if any pattern may match.
class LineAppender final : public log4cplus::Appender {
 public:
  explicit LineAppender(const config::LogSettings& settings) { configure(settings); }
  ~LineAppender() override { destructorImpl(); }
  void close() override { closed = true; }

  // Flushes the buffer. No line is lost or mixed with another.
  void configure(const config::LogSettings& settings) {
    const lib::Lock lock(mutex_);
    info_.reset();
    settings_ = settings;
    info_to_journal_ = writes_to_journal(settings.split_stream ? STDOUT_FILENO : STDERR_FILENO);
    problems_to_journal_ = writes_to_journal(STDERR_FILENO);
    if (settings.split_stream) info_.emplace(settings.info_buffer_size, settings.flush_frequency);
  }
  void set_verbosity(int verbosity) {
    const lib::Lock lock(mutex_);
    settings_.verbosity = verbosity;
  }
  bool any_debug() {
    const lib::Lock lock(mutex_);
    return settings_.verbosity >= kDebugVerbosity ||
           std::any_of(settings_.vmodule.begin(), settings_.vmodule.end(),
                       [](const auto& module) { return module.verbosity >= kDebugVerbosity; });
  }
  void flush() {
    const lib::Lock lock(mutex_);
    if (info_) info_->flush();
  }

 protected:
  void append(const log4cplus::spi::InternalLoggingEvent& event) override {
    const LogRecord record = to_record(event);
    const lib::Lock lock(mutex_);
    if (record.level == base::LogLevel::debug && !shows_debug(record.component)) return;
    const bool info = record.level == base::LogLevel::info || record.level == base::LogLevel::debug;
    std::string line;
    if (info ? info_to_journal_ : problems_to_journal_) line = journal_priority(record.level);
    line += settings_.format == config::LogFormat::json ? json_line(record) : text_line(record);
    line += '\n';
    if (info && info_) {
      info_->put(line);
    } else {
      lib::write_all(STDERR_FILENO, line);
    }
  }

 private:
  bool shows_debug(const std::string& component) const SLUICE_REQUIRES(mutex_) {
    if (settings_.verbosity >= kDebugVerbosity) return true;
    return std::any_of(settings_.vmodule.begin(), settings_.vmodule.end(), [&](const auto& module) {
      return module.verbosity >= kDebugVerbosity && matches_pattern(component, module.pattern);
    });
  }

  lib::Mutex mutex_;
  config::LogSettings settings_ SLUICE_GUARDED_BY(mutex_);
  bool info_to_journal_ SLUICE_GUARDED_BY(mutex_) = false;
  bool problems_to_journal_ SLUICE_GUARDED_BY(mutex_) = false;
  std::optional<InfoStream> info_ SLUICE_GUARDED_BY(mutex_);
};

log4cplus::Logger root_logger() { return log4cplus::Logger::getInstance(std::string(kRootName)); }

LineAppender* line_appender(const log4cplus::SharedAppenderPtr& appender) {
  return dynamic_cast<LineAppender*>(appender.get());
}

void set_level(LineAppender& appender) {
  root_logger().setLogLevel(appender.any_debug() ? log4cplus::DEBUG_LOG_LEVEL : log4cplus::INFO_LOG_LEVEL);
}

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
  line["logger"] = record.component;
  if (record.context.caller.line != 0) line["caller"] = place(record.context.caller);
  line["pid"] = record.process_id;
  line["msg"] = record.text;
  if (record.level == base::LogLevel::info) line["v"] = 0;
  if (record.level == base::LogLevel::debug) line["v"] = kDebugVerbosity;
  if (!record.context.id.empty()) line["id"] = record.context.id;
  for (const base::LogField& field : record.context.fields) {
    nlohmann::ordered_json& value = line[std::string(field.key)];
    switch (field.kind) {
      case base::LogField::Kind::text: value = field.text; break;
      case base::LogField::Kind::integer: value = field.integer; break;
      case base::LogField::Kind::natural: value = field.natural; break;
      case base::LogField::Kind::real: value = field.real; break;
    }
  }
  // Text from clients may be invalid UTF-8, which must not make dump() throw.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), 0) == 0;
}

void set_up_logging(const config::LogSettings& settings) {
  log4cplus::initialize();
  log4cplus::Logger root = root_logger();
  for (const auto& appender : root.getAllAppenders()) {
    // The appender is reconfigured, not replaced, so that no concurrent line is lost.
    if (LineAppender* const line = line_appender(appender)) {
      line->configure(settings);
      return set_level(*line);
    }
  }
  root.setAdditivity(false);
  const log4cplus::SharedAppenderPtr appender(new LineAppender(settings));
  root.removeAllAppenders();
  root.addAppender(appender);
  set_level(*line_appender(appender));
}

void set_verbosity(int verbosity) {
  for (const auto& appender : root_logger().getAllAppenders()) {
    LineAppender* const line = line_appender(appender);
    if (line == nullptr) continue;
    line->set_verbosity(verbosity);
    set_level(*line);
  }
}

void flush_logging() {
  for (const auto& appender : root_logger().getAllAppenders()) {
    if (LineAppender* const line = line_appender(appender)) line->flush();
  }
}

}  // namespace sluice::logging

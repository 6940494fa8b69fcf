// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Writes lines to the log of the daemon, which adds time, plugin id and family.
#pragma once

#include <string>
#include <string_view>

#include "sluice/abi/host.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

// A copyable handle. Without a host it logs nothing. Any thread.
class Logger {
 public:
  explicit Logger(abi::Host* host) noexcept : host_(host) {}

  void error(std::string_view line) const { log(abi::Severity::kError, line); }
  void warning(std::string_view line) const { log(abi::Severity::kWarning, line); }
  void info(std::string_view line) const { log(abi::Severity::kInfo, line); }
  void debug(std::string_view line) const { log(abi::Severity::kDebug, line); }
  // With a stable message id, for log queries: see abi::Host::log().
  void error(std::string_view id, std::string_view line) const { error(with_id(id, line)); }
  void warning(std::string_view id, std::string_view line) const { warning(with_id(id, line)); }
  void info(std::string_view id, std::string_view line) const { info(with_id(id, line)); }
  void debug(std::string_view id, std::string_view line) const { debug(with_id(id, line)); }
  // Whether lines of this severity are logged. Check it before building an expensive text.
  bool keeps(abi::Severity severity) const { return host_ != nullptr && host_->log_enabled(severity) != 0; }

 private:
  static std::string with_id(std::string_view id, std::string_view line) {
    return "[" + std::string(id) + "] " + std::string(line);
  }

  void log(abi::Severity severity, std::string_view line) const {
    if (host_ == nullptr) return;
    if (line.find('\n') == std::string_view::npos) {
      host_->log(severity, view(line));
      return;
    }
    std::string flat(line);
    for (char& c : flat) {
      if (c == '\n') c = ' ';
    }
    host_->log(severity, view(flat));
  }

  abi::Host* host_;
};

}  // namespace sluice::sdk

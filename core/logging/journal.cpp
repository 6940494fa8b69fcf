// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/logging/journal.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <string>

namespace sluice::logging {

bool writes_to_journal(int fd) {
  const char* const journal = std::getenv("JOURNAL_STREAM");
  struct stat stream {};
  return journal != nullptr && ::fstat(fd, &stream) == 0 &&
         std::to_string(stream.st_dev) + ":" + std::to_string(stream.st_ino) == journal;
}

std::string_view journal_priority(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::error:
      return "<3>";
    case base::LogLevel::warning:
      return "<4>";
    case base::LogLevel::info:
      return "<6>";
    case base::LogLevel::debug:
      return "<7>";
  }
  return "<3>";
}

}  // namespace sluice::logging

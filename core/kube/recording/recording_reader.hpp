// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reads a recording line by line in constant memory. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kube/recording/recording_line.hpp"
#include "lib/fd.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

class RecordingReader {
 public:
  // Opens the file and reads its header. Errors name the file.
  static lib::Result<RecordingReader> open(const std::string& path);

  const RecordingHeader& header() const { return header_; }

  // The next nonempty line, without its newline; valid until the next call. Absent at the end.
  lib::Result<std::optional<std::string_view>> next();
  // The error "FILE:12: `problem`" for the line that next() returned.
  lib::Status wrong(const std::string& problem) const;

  // Whether the file ends within the line that next() returned (it has no newline).
  bool unfinished() const { return unfinished_; }
  // Goes back to the first line after the header. Reading then stops at `end`.
  lib::Status rewind(off_t end);
  off_t position() const { return position_; }  // after the line that next() returned

 private:
  RecordingReader(std::string path, lib::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  lib::Status read_header();
  lib::Status fill();

  std::string path_;
  lib::Fd fd_;
  RecordingHeader header_;
  off_t end_ = 0;       // 0 = end of the file
  off_t read_ = 0;      // bytes read from the file
  off_t position_ = 0;  // bytes returned by next()
  off_t first_line_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;  // offset in buffer_ of the bytes that next() has not returned yet
  std::size_t line_number_ = 0;  // of the line that next() returned
  bool unfinished_ = false;
};

// The result of a scan of all lines.
struct RecordingSummary {
  std::uint64_t events = 0;          // lines after the header
  off_t end = 0;                     // after the last valid line
  lib::Clock::Duration duration{};  // until the last event
  std::string warning;               // about a truncated last line; else empty
};
// Fails at the first malformed line. Does not decode objects. Rewinds the reader to the first line.
lib::Result<RecordingSummary> scan_recording(RecordingReader& reader);

// Reads and decodes the whole recording and returns all errors, for --check.
std::vector<std::string> check_recording(const std::string& path);

}  // namespace sluice::kube

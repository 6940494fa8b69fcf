// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// A recording on disk, read line by line in constant memory. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"
#include "core/kube/recording/recording_line.hpp"

namespace sluice::kube {

class RecordingReader {
 public:
  // Opens the file and reads its header. Errors name the file.
  static base::Result<RecordingReader> open(const std::string& path);

  const RecordingHeader& header() const { return header_; }

  // The next line that is not empty, without its line feed; valid until the next call.
  // Nothing at the end.
  base::Result<std::optional<std::string_view>> next();
  std::size_t line_number() const { return line_number_; }  // of the line next() gave
  // "FILE:12: " and `problem`, about the line next() gave.
  base::Status wrong(const std::string& problem) const;

  // Whether the line next() gave has no line feed, because the file ends with it.
  bool unfinished() const { return unfinished_; }
  // Back to the first line after the header. What lies behind `end` is not read.
  base::Status rewind(off_t end);
  off_t position() const { return position_; }  // behind the line next() gave

 private:
  RecordingReader(std::string path, base::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  base::Status read_header();
  base::Status fill();

  std::string path_;
  base::Fd fd_;
  RecordingHeader header_;
  off_t end_ = 0;       // 0 = where the file ends
  off_t read_ = 0;      // bytes taken from the file
  off_t position_ = 0;  // bytes handed out
  off_t first_line_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not handed out yet, in buffer_
  std::size_t line_number_ = 0;
  bool unfinished_ = false;
};

// What a recording holds, found by looking at each line once.
struct RecordingSummary {
  std::uint64_t events = 0;          // lines after the header
  off_t end = 0;                     // behind the last line that can be used
  base::Clock::Duration duration{};  // until the last of them
  std::string warning;               // empty when it ends well
};
// Fails with the first line that is damaged. Objects are not decoded. The reader is
// rewound to the first line.
base::Result<RecordingSummary> scan_recording(RecordingReader& reader);

// Reads all of it, objects too, and returns everything that is wrong, for --check;
// empty = fine.
std::vector<std::string> check_recording(const std::string& path);

}  // namespace sluice::kube

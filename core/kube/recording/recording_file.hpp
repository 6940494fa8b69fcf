// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The file a recording is written to, by a thread of its own: a disk that is full or
// slow ends the recording, and holds up nobody.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"

namespace sluice::kube {

// Whether a recording can be made at `path`: nothing is there, or an earlier recording
// of this user, which is then kept as `path`.old. Changes nothing.
base::Status check_recording_path(const std::string& path);

class RecordingFile {
 public:
  struct Status {
    std::uint64_t bytes = 0;  // in the file
    std::string error;        // why it has ended; empty while it goes on
  };

  // `backlog`: bytes that may wait for the disk; when there are more the recording ends.
  explicit RecordingFile(std::string path, std::size_t backlog = 64u << 20)
      : path_(std::move(path)), backlog_(backlog) {}
  ~RecordingFile();  // closes
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  // Makes the file: mode 0600, new, no symbolic link followed.
  base::Status open();
  // Whole lines. False when the recording has ended. Any thread; never waits for the disk.
  bool append(const std::string& lines);
  // Writes what waits; nothing can be appended after it.
  void close();

  const std::string& path() const { return path_; }
  Status status() const;  // any thread

 private:
  void run();
  base::Status write(const std::string& lines);
  void end(const std::string& reason);

  const std::string path_;
  const std::size_t backlog_;
  base::Fd fd_;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool closed_ = false;
  std::uint64_t bytes_ = 0;
  std::string error_;
};

}  // namespace sluice::kube

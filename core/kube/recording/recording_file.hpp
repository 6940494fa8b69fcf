// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The file of a recording, written by its own thread: a full or slow disk ends the recording, and blocks nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <thread>

#include "lib/fd.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Checks that a recording can be made at `path`: there is no file, or an earlier recording of this user, which open()
// renames to `path`.old. Changes nothing.
lib::Status check_recording_path(const std::string& path);

class RecordingFile {
 public:
  struct Status {
    std::uint64_t bytes = 0;  // in the file
    std::string error;        // why the recording has ended; empty while it continues
  };

  // `backlog`: maximum number of bytes that wait for the disk; the recording ends when there are more.
  explicit RecordingFile(std::string path, std::size_t backlog = 64u << 20)
      : path_(std::move(path)), backlog_(backlog) {}
  ~RecordingFile();  // closes
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  // Creates a new file with mode 0600, without following symbolic links.
  lib::Status open();
  // [any thread] Appends complete lines. Never waits for the disk. Returns false if the recording has ended.
  bool append(const std::string& lines);
  // Writes the remaining lines; nothing can be appended afterwards.
  void close();

  const std::string& path() const { return path_; }
  Status status() const;  // any thread

 private:
  void run();
  lib::Status write(const std::string& lines);
  void end(const std::string& reason);

  const std::string path_;
  const std::size_t backlog_;
  lib::Fd fd_;
  std::thread thread_;

  mutable lib::Mutex mutex_;
  lib::ConditionVariable changed_;
  std::string waiting_ SLUICE_GUARDED_BY(mutex_);
  bool closed_ SLUICE_GUARDED_BY(mutex_) = false;
  std::uint64_t bytes_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::string error_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::kube

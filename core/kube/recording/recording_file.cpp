// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/recording/recording_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/kube/recording/recording_reader.hpp"
#include "lib/files.hpp"

namespace sluice::kube {
namespace {

constexpr std::string_view kKept = ".old";

// Fails if there is a file that must not be renamed or replaced, because it is not a recording of this user.
lib::Status check_replaceable(const std::string& path) {
  const std::string what = "cannot record to " + path;
  struct stat data {};
  if (::lstat(path.c_str(), &data) != 0) {
    return errno == ENOENT ? lib::Status() : lib::errno_status(what, errno);
  }
  if (S_ISLNK(data.st_mode)) return lib::invalid(what + ": it is a symbolic link; name the file itself");
  if (!S_ISREG(data.st_mode)) return lib::invalid(what + ": it is not a regular file");
  // A full disk leaves an empty file.
  const bool ours = data.st_uid == ::geteuid() && (data.st_size == 0 || RecordingReader::open(path).ok());
  if (!ours) return lib::invalid(what + ": the file exists and is not a recording of this user; name another file");
  return {};
}

}  // namespace

lib::Status check_recording_path(const std::string& path) {
  if (auto status = check_replaceable(path); !status.ok()) return status;
  if (auto status = check_replaceable(path + std::string(kKept)); !status.ok()) return status;
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    return lib::errno_status("cannot record to " + path + ": folder " + folder, errno);
  }
  return {};
}

RecordingFile::~RecordingFile() { close(); }

lib::Status RecordingFile::open() {
  if (auto status = check_recording_path(path_); !status.ok()) return status;
  // Keep the previous recording: after a crash and restart, it has the events that led to the crash.
  if (::rename(path_.c_str(), (path_ + std::string(kKept)).c_str()) != 0 && errno != ENOENT) {
    return lib::errno_status("cannot rename " + path_, errno);
  }
  fd_ = lib::Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd_.valid()) return lib::errno_status("cannot record to " + path_, errno);
  thread_ = std::thread([this] { run(); });
  return {};
}

bool RecordingFile::append(const std::string& lines) {
  {
    const lib::Lock lock(mutex_);
    if (closed_ || !error_.empty()) return false;
    if (waiting_.size() + lines.size() <= backlog_) {
      waiting_ += lines;
      changed_.notify_all();
      return true;
    }
  }
  end("the disk is too slow: more than " + std::to_string(backlog_ >> 20) + " MiB wait for it");
  return false;
}

void RecordingFile::close() {
  {
    const lib::Lock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  fd_.reset();
}

void RecordingFile::run() {
  lib::UniqueLock lock(mutex_);
  while (true) {
    while (!closed_ && error_.empty() && waiting_.empty()) changed_.wait(mutex_);
    if (!error_.empty() || waiting_.empty()) return;
    const std::string lines = std::exchange(waiting_, {});
    lock.unlock();
    if (const auto status = write(lines); !status.ok()) end(status.message());
    lock.lock();
  }
}

lib::Status RecordingFile::write(const std::string& lines) {
  if (const std::size_t done = lib::write_all(fd_.get(), lines); done < lines.size()) {
    const int error = errno;
    // Truncate to complete lines, so that the recording can be replayed.
    const std::size_t last = done == 0 ? std::string::npos : lines.rfind('\n', done - 1);
    const std::size_t whole = last == std::string::npos ? 0 : last + 1;
    const lib::Lock lock(mutex_);
    bytes_ += whole;
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0) {
      const std::string text = lib::errno_status("cannot cut off the last line of " + path_, errno).message();
      base::log(base::message::kRecordingNotTruncated, text, {{"file", path_}, {"error", text}});
    }
    return lib::errno_status("cannot write", error);
  }
  const lib::Lock lock(mutex_);
  bytes_ += lines.size();
  return {};
}

void RecordingFile::end(const std::string& reason) {
  std::uint64_t bytes = 0;
  {
    const lib::Lock lock(mutex_);
    if (!error_.empty()) return;
    error_ = reason;
    waiting_ = std::string();
    bytes = bytes_;
  }
  changed_.notify_all();
  base::log(base::message::kRecordingEnded,
            "recording to " + path_ + " has ended: " + reason + "; the " + std::to_string(bytes) +
                " bytes it has can be replayed, and everything else continues",
            {{"file", path_}, {"error", reason}});
}

RecordingFile::Status RecordingFile::status() const {
  const lib::Lock lock(mutex_);
  return {bytes_, error_};
}

}  // namespace sluice::kube

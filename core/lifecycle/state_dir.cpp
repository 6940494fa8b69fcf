// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/state_dir.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/files.hpp"
#include "core/base/log.hpp"

namespace sluice::lifecycle {
namespace {

// The folder and its parents, like mkdir -p.
base::Status make_folder(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST)
      return base::errno_status("cannot make folder " + part, errno);
    if (slash == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return base::errno_status("cannot use folder " + path, errno);
  if (!S_ISDIR(info.st_mode)) return base::invalid("cannot use folder " + path + ": it is no folder");
  return {};
}

// A lock of the process (POSIX), not of the open file (flock): a program that a killed daemon was about to start has a
// copy of every descriptor until its exec, and the next daemon would find the folder taken. Any close of the file by
// this process gives it back.
struct flock whole_file() {
  struct flock out {};
  out.l_type = F_WRLCK;
  out.l_whence = SEEK_SET;
  return out;
}

// " (process 123)" as long as it holds the lock, and where its number means something here.
std::string holder(const base::Fd& lock_file) {
  struct flock found = whole_file();
  if (::fcntl(lock_file.get(), F_GETLK, &found) != 0 || found.l_type == F_UNLCK || found.l_pid <= 0) return {};
  return " (process " + std::to_string(found.l_pid) + ")";
}

}  // namespace

base::Status StateDir::open() {
  if (const base::Status made = make_folder(path_, 0755); !made.ok()) return made.prefixed("state directory");
  const std::string lock_file = path_ + "/lock";
  const std::string action = "cannot lock state directory " + path_;
  base::Fd lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock.valid()) return base::errno_status(action, errno);
  struct flock wanted = whole_file();
  if (::fcntl(lock.get(), F_SETLK, &wanted) != 0) {
    if (errno != EACCES && errno != EAGAIN) return base::errno_status(action, errno);
    return base::unavailable("state directory " + path_ + " is in use by another sluiced" + holder(lock) +
                             "; stop it or choose another with --state-dir");
  }
  lock_ = std::move(lock);
  if (const base::Status loaded = ledger_.load(); !loaded.ok()) base::log_warning("app", loaded.message());
  return {};
}

base::Result<std::string> StateDir::backend_folder(std::string_view id) const {
  if (id.empty() || id.front() == '.' || id.find('/') != std::string_view::npos) {
    return base::invalid("backend id '" + std::string(id) + "' cannot name a folder");
  }
  std::string out = path_ + "/backends/" + std::string(id);
  if (const base::Status made = make_folder(out, 0755); !made.ok()) return made;
  return out;
}

base::Status StateDir::record(ownership::Claim claim) {
  const std::lock_guard lock(mutex_);
  return ledger_.record(std::move(claim));
}

base::Status StateDir::forget(const std::string& backend, base::Family family, ownership::ClaimState state) {
  const std::lock_guard lock(mutex_);
  return ledger_.forget(backend, family, state);
}

std::vector<ownership::Claim> StateDir::claims() const {
  const std::lock_guard lock(mutex_);
  return ledger_.claims();
}

}  // namespace sluice::lifecycle

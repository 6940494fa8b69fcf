// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/lifecycle/state_dir.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/log_messages.hpp"
#include "lib/files.hpp"

namespace sluice::lifecycle {
namespace {

// Like mkdir -p.
lib::Status make_folder(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST)
      return lib::errno_status("cannot make folder " + part, errno);
    if (slash == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return lib::errno_status("cannot use folder " + path, errno);
  if (!S_ISDIR(info.st_mode)) return lib::invalid("cannot use folder " + path + ": not a directory");
  return {};
}

// A POSIX record lock, owned by the process, instead of flock(2): a child between fork and exec has a copy of every
// descriptor, and would hold a flock after the daemon was killed. Any close of the file by this process releases it.
struct flock whole_file() {
  struct flock out {};
  out.l_type = F_WRLCK;
  out.l_whence = SEEK_SET;
  return out;
}

// " (process 123)"; empty when the lock was released or the holder is in another PID namespace.
std::string holder(const lib::Fd& lock_file) {
  struct flock found = whole_file();
  if (::fcntl(lock_file.get(), F_GETLK, &found) != 0 || found.l_type == F_UNLCK || found.l_pid <= 0) return {};
  return " (process " + std::to_string(found.l_pid) + ")";
}

}  // namespace

lib::Status StateDir::open() {
  if (const lib::Status made = make_folder(path_, 0755); !made.ok()) return made.prefixed("state directory");
  const std::string lock_file = path_ + "/lock";
  const std::string action = "cannot lock state directory " + path_;
  lib::Fd lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock.valid()) return lib::errno_status(action, errno);
  struct flock wanted = whole_file();
  if (::fcntl(lock.get(), F_SETLK, &wanted) != 0) {
    if (errno != EACCES && errno != EAGAIN) return lib::errno_status(action, errno);
    return lib::unavailable("state directory " + path_ + " is in use by another sluiced" + holder(lock) +
                            "; stop it or choose another with --state-dir");
  }
  lock_ = std::move(lock);
  const lib::Lock one_at_a_time(mutex_);
  if (const lib::Status loaded = ownership_ledger_.load(); !loaded.ok())
    base::log(base::message::kOwnershipLedgerUnreadable, loaded.message(), {{"error", loaded.message()}});
  return {};
}

lib::Result<std::string> StateDir::backend_folder(std::string_view id) const {
  if (id.empty() || id.front() == '.' || id.find('/') != std::string_view::npos) {
    return lib::invalid("backend id '" + std::string(id) + "' is not a valid directory name");
  }
  std::string out = path_ + "/backends/" + std::string(id);
  if (const lib::Status made = make_folder(out, 0755); !made.ok()) return made;
  return out;
}

lib::Status StateDir::record(ownership::Claim claim) {
  const lib::Lock lock(mutex_);
  return ownership_ledger_.record(std::move(claim));
}

lib::Status StateDir::forget(const std::string& backend, lib::Family family, ownership::ClaimState state) {
  const lib::Lock lock(mutex_);
  return ownership_ledger_.forget(backend, family, state);
}

std::vector<ownership::Claim> StateDir::claims() const {
  const lib::Lock lock(mutex_);
  return ownership_ledger_.claims();
}

}  // namespace sluice::lifecycle

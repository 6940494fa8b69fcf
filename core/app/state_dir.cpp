// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/state_dir.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/files.hpp"
#include "core/base/log.hpp"

namespace sluice::app {
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

// " (process 123)" when the lock file says who holds it.
std::string holder(const std::string& lock_file) {
  const base::Result<std::string> text = base::read_file(lock_file, 32);
  if (!text || text->find_first_of("0123456789") != 0) return {};
  return " (process " + text->substr(0, text->find('\n')) + ")";
}

}  // namespace

base::Status StateDir::open() {
  if (const base::Status made = make_folder(path_, 0755); !made.ok()) return made.prefixed("state directory");
  const std::string lock_file = path_ + "/lock";
  const std::string action = "cannot lock state directory " + path_;
  base::Fd lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!lock.valid()) return base::errno_status(action, errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return base::errno_status(action, errno);
    return base::unavailable("state directory " + path_ + " is in use by another sluiced" + holder(lock_file) +
                             "; stop it or choose another with --state-dir");
  }
  // For the message above only; the lock itself is what counts.
  const std::string self = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), self.data(), self.size(), 0) < 0) {
    return base::errno_status(action, errno);
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

base::Status StateDir::record(Claim claim) {
  const std::lock_guard lock(mutex_);
  return ledger_.record(std::move(claim));
}

base::Status StateDir::forget(const std::string& backend, base::Family family, ClaimState state) {
  const std::lock_guard lock(mutex_);
  return ledger_.forget(backend, family, state);
}

std::vector<Claim> StateDir::claims() const {
  const std::lock_guard lock(mutex_);
  return ledger_.claims();
}

}  // namespace sluice::app

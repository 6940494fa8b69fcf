// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The state directory, for data that survives a restart of the daemon but not a reboot. A
// lock allows one daemon at a time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ownership/ownership_ledger.hpp"
#include "lib/fd.hpp"
#include "lib/mutex.hpp"
#include "lib/status.hpp"

namespace sluice::lifecycle {

class StateDir {
 public:
  explicit StateDir(std::string path) : path_(std::move(path)), ownership_ledger_(path_ + "/claims.json") {}

  // Creates the directory (mode 0755) if needed, takes its lock, which the kernel releases
  // when this object or the process ends, and reads the ownership ledger. A lock held by
  // another process is an error; a corrupt file is logged as a warning. Must not be called
  // twice in one process, because the lock belongs to the process.
  lib::Status open();

  const std::string& path() const { return path_; }
  // Path of the control socket.
  std::string control_socket() const { return path_ + "/control.sock"; }
  // Path of the descriptor holder's socket.
  std::string holder_socket() const { return path_ + "/holder.sock"; }

  // The directory of one backend, created if needed. REQUIRES: open.
  lib::Result<std::string> backend_folder(std::string_view id) const;

  // [any thread] See OwnershipLedger. record() and forget() wait for the disk. Before open(),
  // claims() is empty, and the others must not be called.
  lib::Status record(ownership::Claim claim);
  lib::Status forget(const std::string& backend, lib::Family family, ownership::ClaimState state);
  std::vector<ownership::Claim> claims() const;

 private:
  std::string path_;
  lib::Fd lock_;
  mutable lib::Mutex mutex_;  // apply threads and swaps record concurrently
  ownership::OwnershipLedger ownership_ledger_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::lifecycle

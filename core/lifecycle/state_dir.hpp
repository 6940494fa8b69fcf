// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The folder for what must survive a restart of the daemon but not of the machine,
// held by one daemon at a time.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/fd.hpp"
#include "core/base/status.hpp"
#include "core/ownership/claims_ledger.hpp"

namespace sluice::lifecycle {

class StateDir {
 public:
  explicit StateDir(std::string path) : path_(std::move(path)), ledger_(path_ + "/claims.json") {}

  // Makes the folder (mode 0755) if needed, takes its lock, which the kernel gives back
  // when this object or the process ends, and reads the ledger. A lock held by another
  // process is an error; a damaged ledger is a warning in the log. Not twice in one process:
  // the lock belongs to the process.
  base::Status open();

  const std::string& path() const { return path_; }
  // Where a client finds the socket of the daemon with this state directory.
  std::string control_socket() const { return path_ + "/control.sock"; }

  // The folder of one backend, made if needed. REQUIRES: open.
  base::Result<std::string> backend_folder(std::string_view id) const;

  // The ledger of claims, for any thread; see ClaimsLedger for what they do. Both wait for
  // the disk. Before open() there is nothing in it, and nothing may be recorded.
  base::Status record(ownership::Claim claim);
  base::Status forget(const std::string& backend, base::Family family, ownership::ClaimState state);
  std::vector<ownership::Claim> claims() const;

 private:
  std::string path_;
  base::Fd lock_;
  mutable std::mutex mutex_;        // families and swaps report from threads of their own
  ownership::ClaimsLedger ledger_;  // under mutex_
};

}  // namespace sluice::lifecycle

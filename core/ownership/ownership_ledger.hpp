// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Records in a file which kernel objects each backend owns, and the state of the backend. The
// next start and the clean-up work from this file, even if the process died during a swap or
// a plugin was uninstalled. Every object that may exist is listed if each entry is recorded
// before its backend writes to the kernel, and forgotten after its objects are deleted.
// One thread; StateDir adds the lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/ip.hpp"
#include "lib/status.hpp"

namespace sluice::ownership {

using Artifacts = std::vector<std::string>;  // "iptables/nat/KUBE-SERVICES", "ipset/KUBE-*"; sorted, each once

enum class ClaimState : std::uint8_t {
  serving,   // active: new connections go to it
  arriving,  // new backend of a swap: it writes to the kernel and may not serve yet
  retiring,  // old backend: it drains its connections
};

// "serving", "arriving", "retiring".
const char* claim_state_name(ClaimState state);

// One backend in one family, in one state. During a swap to another plugin file, a backend is
// listed in two states.
struct Claim {
  std::string backend;  // its id
  lib::Family family = lib::Family::ipv4;
  ClaimState state = ClaimState::serving;
  std::string plugin;  // plugin file; may be empty
  // If retiring: end of the drain. Nothing: not decided yet.
  std::optional<std::chrono::system_clock::time_point> until;
  Artifacts artifacts;
};

class OwnershipLedger {
 public:
  explicit OwnershipLedger(std::string path) : path_(std::move(path)) {}

  // Reads the file. Fails if it is corrupt, whole or in part; readable entries are loaded
  // nevertheless. A missing file is not an error; a file with a newer format is renamed to
  // "<path>.newer".
  lib::Status load();

  // Adds an entry, or replaces the entry with the same backend, family and state; artifacts
  // listed as retiring stay listed. Writes the file before it returns, if anything changed.
  // After a failed write the entry is in memory, and the next call writes it.
  // A family has one serving backend: recording a backend as serving removes its arriving
  // entry, and the backend that served before becomes retiring (with its `until`, if known).
  // If both have the same id, only artifacts that the new entry does not claim become
  // retiring.
  lib::Status record(Claim claim);
  // Removes an entry: its artifacts are deleted, or belong to another backend. A missing entry
  // is not an error.
  lib::Status forget(const std::string& backend, lib::Family family, ClaimState state);

  std::vector<Claim> claims() const;  // by backend, family and state

 private:
  using Key = std::tuple<std::string, lib::Family, ClaimState>;
  void retire(const Claim& serving, const Claim& successor);
  lib::Status changed(bool different);
  lib::Status save() const;
  lib::Status put_aside();

  std::string path_;
  std::map<Key, Claim> claims_;
  bool rewrite_ = false;  // the file differs from memory: write it even if nothing changes
};

}  // namespace sluice::ownership

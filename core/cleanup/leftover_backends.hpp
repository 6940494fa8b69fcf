// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Backends that left state on this node and do not run, as found at startup: the process died during a swap or a
// drain, the mode was changed while no daemon ran, or kube-proxy served here. No I/O; any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/ownership/ownership_ledger.hpp"
#include "lib/ip.hpp"

namespace sluice::cleanup {

struct LeftoverBackend {
  enum class By {
    plugin,   // the plugin is installed: a backend made from it runs retire() until it returns ok
    remover,  // StartupCleanup removes the artifacts
  };
  std::string backend;  // id
  lib::Family family = lib::Family::ipv4;
  By by = By::plugin;
  std::chrono::seconds drain{0};   // how long connections may still use it
  std::string plugin;              // the file it was loaded from; empty if unknown
  ownership::Artifacts artifacts;  // sorted, unique
  // Entries to delete from the ownership ledger once the artifacts are gone; empty if it has none.
  std::vector<ownership::ClaimState> states;
};

struct LeftoverInput {
  // Read after the active backend is recorded as serving: from then on the entries include what an earlier version of
  // its plugin left.
  std::vector<ownership::Claim> ownership_ledger;
  std::string own;                     // id of the active backend
  std::vector<std::string> installed;  // ids of the installed plugins
  std::vector<lib::Family> families;  // families that the active backend serves
  bool ipvs_in_use = false;            // result of ipvs_in_use()
  std::chrono::seconds drain{0};       // drain time of a backend that does not retire yet
  std::chrono::system_clock::time_point now;
};

// Sorted by backend and family, unique.
// - The active backend adopts its own state. Artifacts that only an earlier version of its plugin made are listed, for
//   the remover. Artifacts that the active backend claims are kept, even if another entry lists them.
// - In a family that no backend serves, the remover handles every backend.
// - IPVS state without an entry in the ownership ledger counts as a backend that served until now, if its plugin is
//   installed and the active backend is another mode of kube-proxy.
// - The remaining drain time is at most `drain`, even if the clock was changed.
std::vector<LeftoverBackend> find_leftover_backends(const LeftoverInput& input);

}  // namespace sluice::cleanup

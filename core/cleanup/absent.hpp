// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Backends that have things on this node and nobody to look after them, as a start finds
// them: the process died in the middle of a swap, or while one drained, or the mode was
// changed while nothing ran, or it was kube-proxy that served here. Pure; any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/ip.hpp"
#include "core/ownership/claims_ledger.hpp"

namespace sluice::cleanup {

struct Absent {
  enum class By {
    plugin,   // is installed: a backend made by it is asked to retire() until it says ok
    remover,  // StartupCleanup removes the artifacts
  };
  std::string backend;  // its id
  base::Family family = base::Family::ipv4;
  By by = By::plugin;
  std::chrono::seconds drain{0};   // how long its connections may still live
  std::string plugin;              // the file it was loaded from; empty when that is not known
  ownership::Artifacts artifacts;  // sorted, each once
  // Entries of the ledger that are removed once the artifacts are gone. Empty: the ledger has none.
  std::vector<ownership::ClaimState> states;
};

struct AbsentInput {
  // Best with the own backend recorded as serving already: what an earlier file of its plugin left is known from then
  // on.
  std::vector<ownership::Claim> ledger;
  std::string own;                     // id of the backend that is going to serve
  std::vector<std::string> installed;  // ids of the plugins there are
  std::vector<base::Family> families;  // in which a backend serves
  bool ipvs_stands = false;            // as ipvs_stands() says
  std::chrono::seconds drain{0};       // what one may have that does not retire yet
  std::chrono::system_clock::time_point now;
};

// By backend and family, each once.
// - The own backend takes over what it had. Only what an earlier file of its plugin has left
//   is absent: by the remover, as the plugin does not know it any more. What it claims is not
//   removed whoever lists it.
// - A backend in a family in which nobody serves is by the remover, too.
// - Mode ipvs that no ledger knows but that stands on the node is absent as if it had served
//   until now, when its plugin is installed and the own backend is another of kube-proxy's modes.
// - The time that is left is never more than `drain`, whatever the clock did meanwhile.
std::vector<Absent> find_absent(const AbsentInput& input);

}  // namespace sluice::cleanup

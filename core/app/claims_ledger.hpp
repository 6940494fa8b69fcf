// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the backends own on this node, by backend and family, in a file that outlives
// them: clean-up works from it even when a plugin is gone. It is a cache of what the
// backends say: a missing or damaged file is rebuilt as they say it again.
// One thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::app {

class ClaimsLedger {
 public:
  using Owner = std::pair<std::string, base::Family>;  // backend id and family
  using Artifacts = std::vector<std::string>;          // "iptables/nat/KUBE-SERVICES"; sorted, each once

  explicit ClaimsLedger(std::string path) : path_(std::move(path)) {}

  // Reads the file. Not ok when it had to be given up, whole or in part; what could be
  // read is there nevertheless. A missing file is an empty ledger.
  base::Status load();

  // Replaces what an owner has; an empty list removes the owner. The file is written
  // before this returns, and only when something is different.
  base::Status set(const Owner& owner, Artifacts artifacts);

  const std::map<Owner, Artifacts>& all() const { return claims_; }

 private:
  base::Status save() const;

  std::string path_;
  std::map<Owner, Artifacts> claims_;
  bool rewrite_ = false;  // the file is damaged: write it even if nothing changes
};

}  // namespace sluice::app

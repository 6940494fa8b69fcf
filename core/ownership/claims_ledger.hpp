// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the backends own on this node, and how far each of them is, in a file that outlives
// them: the next start and clean-up work from it even when a process died in the middle of
// a swap, or a plugin is gone. Every artifact that may exist is listed under somebody at
// every moment, provided that an entry is recorded before its backend writes to the kernel,
// and forgotten after it has removed what it had.
// One thread; StateDir has it for all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/ip.hpp"
#include "core/base/status.hpp"

namespace sluice::ownership {

using Artifacts = std::vector<std::string>;  // "iptables/nat/KUBE-SERVICES", "ipset/KUBE-*"; sorted, each once

enum class ClaimState : std::uint8_t {
  serving,   // new connections go to it
  arriving,  // it fills the kernel, and perhaps has not served yet
  retiring,  // another one serves; connections live on in it until it is gone
};

// "serving", "arriving", "retiring".
const char* claim_state_name(ClaimState state);

// One backend in one family, in one state. A backend whose plugin is exchanged for another
// file of the same id is in the ledger in two states for some time.
struct Claim {
  std::string backend;  // its id
  base::Family family = base::Family::ipv4;
  ClaimState state = ClaimState::serving;
  std::string plugin;  // the file it was loaded from; may be empty
  // Of one that retires: when its last connection ends. Nothing: that was not decided yet.
  std::optional<std::chrono::system_clock::time_point> until;
  Artifacts artifacts;
};

class ClaimsLedger {
 public:
  explicit ClaimsLedger(std::string path) : path_(std::move(path)) {}

  // Reads the file. Not ok when it had to be given up, whole or in part; what could be
  // read is there nevertheless. A missing file is an empty ledger; one of a format that only
  // a newer sluiced knows is moved aside as "<path>.newer".
  base::Status load();

  // Puts an entry in, in place of one with the same backend, family and state; of one that
  // retires, what was listed stays listed. The file is written before this returns, and only
  // when something is different. After a failure it is as good as recorded, but for a crash;
  // the next call writes it.
  // A family has one that serves: who is recorded as serving ceases to be arriving, and who
  // served there before retires from now on (`until` as it is known, or nothing). When that
  // was one of the same id, whose successor has its artifacts, only those retire that the
  // successor does not claim.
  base::Status record(Claim claim);
  // What it had is gone, or is somebody else's; when two of one id retired, of both. Nothing
  // to do is fine.
  base::Status forget(const std::string& backend, base::Family family, ClaimState state);

  std::vector<Claim> claims() const;  // by backend, family and state

 private:
  using Key = std::tuple<std::string, base::Family, ClaimState>;
  void retire(const Claim& serving, const Claim& successor);
  base::Status changed(bool different);
  base::Status save() const;
  base::Status put_aside();

  std::string path_;
  std::map<Key, Claim> claims_;
  bool rewrite_ = false;  // what is in the file is not what is here: write it even if nothing changes
};

}  // namespace sluice::ownership

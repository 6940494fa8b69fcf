// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Who wants which port of this node, who has it, and who gets it when it becomes free.
// Several service ports may want the same one: the first one has it until it no longer
// wants it; then the one whose name comes first in the alphabet. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/portal/node_port_claims.hpp"

namespace sluice::userspace {

class ClaimBook {
 public:
  explicit ClaimBook(abi::Family family, KeptSockets* kept = nullptr, bool beside_predecessor = false)
      : claims_(family, kept, beside_predecessor) {}

  // `owner` wants these and no others; sorted, each once. Takes effect with settle().
  void want(const std::string& owner, const std::vector<ClaimedAddress>& before,
            const std::vector<ClaimedAddress>& now);

  // Gives what is free, or held by somebody who no longer wants it, to somebody who does. `all`: also what a program of
  // this node had when it was last tried. Returns who has got something that he was refused before.
  std::set<std::string> settle(bool all);

  // Frees what is held and no longer wanted: after settle(), and when no rule leads there any more.
  void release_unwanted();

  // Why `owner` does not have it; empty when he does. After settle().
  std::string refusal(const ClaimedAddress& what, const std::string& owner) const;

  // As of NodePortClaims.
  void keep_all(std::set<std::string>& names) { claims_.keep_all(names); }
  // Nobody wants anything any more.
  void release_all();

  std::size_t held() const noexcept { return claims_.size(); }
  std::size_t refusals() const noexcept { return refusals_.size(); }

 private:
  using Refusals = std::map<std::pair<ClaimedAddress, std::string>, std::string>;

  void settle_one(const ClaimedAddress& what, std::set<std::string>& gained);
  void release(const ClaimedAddress& what);
  void refuse(const ClaimedAddress& what, const std::string& owner, std::string why);

  NodePortClaims claims_;
  std::map<ClaimedAddress, std::set<std::string>> wanted_;  // none is empty
  std::set<ClaimedAddress> touched_;                        // since the last settle()
  std::set<ClaimedAddress> unwanted_;                       // held, perhaps
  Refusals refusals_;                                       // of those that are wanted
};

}  // namespace sluice::userspace

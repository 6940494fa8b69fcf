// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Assigns ports of this node to the service ports that claim them. If several claim the same
// port, the first one holds it until it withdraws the claim; then the one whose name comes
// first in the alphabet receives it. Single-threaded.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/userspace/portal/node_port_claims.hpp"

namespace sluice::userspace {

class ClaimArbiter {
 public:
  explicit ClaimArbiter(abi::Family family, KeptSockets* kept = nullptr, bool beside_old_backend = false)
      : claims_(family, kept, beside_old_backend) {}

  // Replaces the claims of `owner`; both lists are sorted and unique. Takes effect with settle().
  void set_wanted(const std::string& owner, const std::vector<ClaimedAddress>& before,
                  const std::vector<ClaimedAddress>& now);

  // Assigns ports that are free or no longer wanted by their owner. `all`: also retry ports that another program held.
  // Returns the owners that received a port they were refused before.
  std::set<std::string> settle(bool all);

  // Releases ports that are held but no longer wanted. Call after settle(), when no rule redirects there any more.
  void release_unwanted();

  // Why `owner` does not hold it; empty if it does. Valid after settle().
  std::string refusal(const ClaimedAddress& claimed, const std::string& owner) const;

  // The service port that holds the address, or every address of the node with this port; empty: none.
  std::string holder(const ClaimedAddress& claimed) const;
  // Why service ports do not hold the address or an overlapping one.
  std::vector<std::string> refusals_at(const ClaimedAddress& claimed) const;

  // See NodePortClaims.
  void keep_all(std::set<std::string>& names) { claims_.keep_all(names); }
  // Withdraws all claims and releases all ports.
  void release_all();

  std::size_t held() const noexcept { return claims_.size(); }
  std::size_t refusals() const noexcept { return refusals_.size(); }

 private:
  using Refusals = std::map<std::pair<ClaimedAddress, std::string>, std::string>;

  void settle_one(const ClaimedAddress& claimed, std::set<std::string>& gained);
  void release(const ClaimedAddress& claimed);
  void refuse(const ClaimedAddress& claimed, const std::string& owner, std::string why);

  NodePortClaims claims_;
  std::map<ClaimedAddress, std::set<std::string>> wanted_;  // no set is empty
  std::set<ClaimedAddress> changed_;                        // since the last settle()
  std::set<ClaimedAddress> unwanted_;                       // may be held
  Refusals refusals_;                                       // of wanted addresses
};

}  // namespace sluice::userspace

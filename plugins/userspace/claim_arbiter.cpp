// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/claim_arbiter.hpp"

#include <algorithm>
#include <utility>

namespace sluice::userspace {

void ClaimArbiter::set_wanted(const std::string& owner, const std::vector<ClaimedAddress>& before,
                              const std::vector<ClaimedAddress>& now) {
  for (const ClaimedAddress& claimed : before) {
    if (std::binary_search(now.begin(), now.end(), claimed)) continue;
    changed_.insert(claimed);
    refusals_.erase({claimed, owner});
    const auto wanting = wanted_.find(claimed);
    if (wanting == wanted_.end()) continue;
    wanting->second.erase(owner);
    if (wanting->second.empty()) wanted_.erase(wanting);
  }
  for (const ClaimedAddress& claimed : now) {
    const bool is_new = wanted_[claimed].insert(owner).second;
    if (is_new || refusals_.contains({claimed, owner})) changed_.insert(claimed);
  }
}

std::set<std::string> ClaimArbiter::settle(bool all) {
  claims_.start_round();
  if (all) claims_.bind_own_sockets();
  std::set<std::string> gained;
  std::set<ClaimedAddress> open = std::exchange(changed_, {});
  if (all) {
    for (const auto& [refused, why] : refusals_) open.insert(refused.first);
  }
  for (const ClaimedAddress& claimed : open) {
    if (!wanted_.contains(claimed) && claims_.holder(claimed) != nullptr) unwanted_.insert(claimed);
  }
  for (const ClaimedAddress& claimed : open) settle_one(claimed, gained);
  return gained;
}

void ClaimArbiter::settle_one(const ClaimedAddress& claimed, std::set<std::string>& gained) {
  const auto wanting = wanted_.find(claimed);
  if (wanting == wanted_.end()) return;
  unwanted_.erase(claimed);
  const std::set<std::string>& owners = wanting->second;
  const std::string* holder = claims_.holder(claimed);
  if (holder != nullptr && !owners.contains(*holder)) claims_.hand_over(claimed, std::string(*holder), *owners.begin());
  for (const std::string& owner : owners) {
    std::string why = claims_.claim(claimed, owner);
    if (!why.empty()) {
      refuse(claimed, owner, std::move(why));
    } else if (refusals_.erase({claimed, owner}) != 0) {
      gained.insert(owner);
    }
  }
}

void ClaimArbiter::refuse(const ClaimedAddress& claimed, const std::string& owner, std::string why) {
  refusals_[{claimed, owner}] = std::move(why);
}

void ClaimArbiter::release_unwanted() {
  for (const ClaimedAddress& claimed : std::exchange(unwanted_, {})) release(claimed);
}

void ClaimArbiter::release(const ClaimedAddress& claimed) {
  const std::string* holder = claims_.holder(claimed);
  if (holder != nullptr) claims_.release(claimed, std::string(*holder));
}

void ClaimArbiter::release_all() {
  wanted_.clear();
  changed_.clear();
  unwanted_.clear();
  refusals_.clear();
  claims_.release_all();
}

std::string ClaimArbiter::refusal(const ClaimedAddress& claimed, const std::string& owner) const {
  const auto found = refusals_.find({claimed, owner});
  return found == refusals_.end() ? std::string() : found->second;
}

std::string ClaimArbiter::holder(const ClaimedAddress& claimed) const {
  const std::string* found = claims_.holder(claimed);
  if (found == nullptr) found = claims_.holder({{}, claimed.port, claimed.protocol});
  return found == nullptr ? std::string() : *found;
}

std::vector<std::string> ClaimArbiter::refusals_at(const ClaimedAddress& claimed) const {
  std::vector<std::string> all;
  for (const auto& [refused, why] : refusals_) {
    if (overlap(refused.first, claimed)) all.push_back(why);
  }
  return all;
}

}  // namespace sluice::userspace

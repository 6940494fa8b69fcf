// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/claim_book.hpp"

#include <algorithm>
#include <utility>

namespace sluice::userspace {

void ClaimBook::want(const std::string& owner, const std::vector<ClaimedAddress>& before,
                     const std::vector<ClaimedAddress>& now) {
  for (const ClaimedAddress& what : before) {
    if (std::binary_search(now.begin(), now.end(), what)) continue;
    touched_.insert(what);
    refusals_.erase({what, owner});
    const auto wanting = wanted_.find(what);
    if (wanting == wanted_.end()) continue;
    wanting->second.erase(owner);
    if (wanting->second.empty()) wanted_.erase(wanting);
  }
  for (const ClaimedAddress& what : now) {
    const bool is_new = wanted_[what].insert(owner).second;
    if (is_new || refusals_.contains({what, owner})) touched_.insert(what);
  }
}

std::set<std::string> ClaimBook::settle(bool all) {
  claims_.look_again();
  if (all) claims_.hold_as_wanted();
  std::set<std::string> gained;
  std::set<ClaimedAddress> open = std::exchange(touched_, {});
  if (all) {
    for (const auto& [refused, why] : refusals_) open.insert(refused.first);
  }
  for (const ClaimedAddress& what : open) {
    if (!wanted_.contains(what) && claims_.holder(what) != nullptr) unwanted_.insert(what);
  }
  for (const ClaimedAddress& what : open) settle_one(what, gained);
  return gained;
}

void ClaimBook::settle_one(const ClaimedAddress& what, std::set<std::string>& gained) {
  const auto wanting = wanted_.find(what);
  if (wanting == wanted_.end()) return;
  unwanted_.erase(what);
  const std::set<std::string>& owners = wanting->second;
  const std::string* holder = claims_.holder(what);
  if (holder != nullptr && !owners.contains(*holder)) claims_.hand_over(what, std::string(*holder), *owners.begin());
  for (const std::string& owner : owners) {
    std::string why = claims_.claim(what, owner);
    if (!why.empty()) {
      refuse(what, owner, std::move(why));
    } else if (refusals_.erase({what, owner}) != 0) {
      gained.insert(owner);
    }
  }
}

void ClaimBook::refuse(const ClaimedAddress& what, const std::string& owner, std::string why) {
  refusals_[{what, owner}] = std::move(why);
}

void ClaimBook::release_unwanted() {
  for (const ClaimedAddress& what : std::exchange(unwanted_, {})) release(what);
}

void ClaimBook::release(const ClaimedAddress& what) {
  const std::string* holder = claims_.holder(what);
  if (holder != nullptr) claims_.release(what, std::string(*holder));
}

void ClaimBook::release_all() {
  wanted_.clear();
  touched_.clear();
  unwanted_.clear();
  refusals_.clear();
  claims_.release_all();
}

std::string ClaimBook::refusal(const ClaimedAddress& what, const std::string& owner) const {
  const auto found = refusals_.find({what, owner});
  return found == refusals_.end() ? std::string() : found->second;
}

}  // namespace sluice::userspace

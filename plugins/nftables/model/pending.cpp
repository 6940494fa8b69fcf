// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/pending.hpp"

#include "plugins/nftables/model/service_state.hpp"

namespace sluice::nftables {

Owner Pending::owner(const std::string& name) {
  const auto [place, is_new] = places_.emplace(name, static_cast<Owner>(owners_.size()));
  if (is_new) owners_.push_back(name);
  return place->second;
}

void Pending::removed(const Record& record, Owner owner) {
  const auto [change, is_new] = changes_.try_emplace({record.set, record.key});
  if (is_new) change->second.before = Version{record.data, owner};
  change->second.after.reset();
}

void Pending::added(const Record& record, Owner owner) {
  changes_[{record.set, record.key}].after = Version{record.data, owner};
}

void Pending::take(Changes& into) {
  for (auto& [key, change] : changes_) {
    const bool same = change.before && change.after && change.before->data == change.after->data &&
                      (!is_commented(key.first) || change.before->owner == change.after->owner);
    if (same) continue;
    if (change.before) {
      into.elements.push_back({{key.first, key.second, change.before->data}, true, change.before->owner, {}});
    }
    if (change.after) {
      const Owner owner = change.after->owner;
      const std::string comment = is_commented(key.first) ? element_comment(owners_[owner]) : std::string();
      into.elements.push_back({{key.first, key.second, change.after->data}, false, owner, comment});
    }
  }
  into.owners = std::move(owners_);
  clear();
}

void Pending::clear() {
  changes_.clear();
  owners_.assign(1, std::string());
  places_.clear();
}

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/manifests/manifest_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace sluice::kube {

const Object* ManifestSet::find(const ManifestKey& key) const {
  const auto owners = owners_.find(key);
  if (owners == owners_.end()) return nullptr;
  return &files_.at(*owners->second.begin()).at(key);
}

void ManifestSet::each(const std::function<void(const Object&)>& visit) const {
  for (const auto& [key, owners] : owners_) visit(*find(key));
}

ManifestSet::Outcome ManifestSet::apply(const std::vector<ManifestFileChange>& changes) {
  Outcome out;
  std::map<ManifestKey, std::optional<Object>> before;  // of every object that a changed file has or had
  std::set<ManifestKey> unusable;
  const auto touch = [&](const ManifestKey& key) {
    if (before.contains(key)) return;
    const Object* known = find(key);
    before.emplace(key, known != nullptr ? std::optional(*known) : std::nullopt);
  };

  for (const auto& change : changes) {
    const auto file = files_.find(change.path);
    if (change.content && !change.content->errors.empty()) {
      if (file != files_.end()) continue;
      unusable.insert(change.content->unusable.begin(), change.content->unusable.end());
    }
    if (file != files_.end()) {
      for (const auto& [key, object] : file->second) {
        touch(key);
        const auto owners = owners_.find(key);
        owners->second.erase(change.path);
        if (owners->second.empty()) owners_.erase(owners);
      }
      files_.erase(file);
    }
    if (!change.content) continue;
    Objects& objects = files_[change.path];
    for (const auto& item : change.content->objects) {
      touch(item.key);
      objects.emplace(item.key, item.object);
      owners_[item.key].insert(change.path);
    }
  }

  // Removals come last, so that an endpoint that moves to another slice is never missing.
  std::vector<model::Event> removals;
  for (const auto& [key, old] : before) {
    const Object* now = find(key);
    if (now == nullptr) {
      if (old) removals.push_back(model::Remove{key.kind, key.name});
      continue;
    }
    if (!old || *old != *now) out.events.push_back(model::Upsert{*now});
    const auto& owners = owners_.at(key);
    for (auto other = std::next(owners.begin()); other != owners.end(); ++other) {
      out.duplicates.push_back(*other + ": " + key.to_string() + " is in " + *owners.begin() +
                               " too, and that one is used; remove one of them");
    }
  }
  for (const auto& key : unusable) {
    if (find(key) == nullptr) out.events.push_back(model::Unusable{key.kind, key.name});
  }
  std::move(removals.begin(), removals.end(), std::back_inserter(out.events));
  return out;
}

}  // namespace sluice::kube

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/sync/recent_namespaces.hpp"

#include <algorithm>

namespace sluice::sync {

void RecentNamespaces::set_minimum(lib::Clock::Duration minimum) {
  const lib::Lock lock(mutex_);
  span_ = 2 * minimum;
}

void RecentNamespaces::note(const snapshot::Transaction& transaction, lib::Clock::Time now) {
  const lib::Lock lock(mutex_);
  std::erase_if(ended_, [&](const auto& one) SLUICE_REQUIRES(mutex_) { return one.second + span_ <= now; });
  if (span_ <= lib::Clock::Duration::zero()) return;
  for (const auto& port : transaction.service_ports) ended_[port->key.service.name_space] = now;
  for (const auto& key : transaction.removed) ended_[key.service.name_space] = now;
}

bool RecentNamespaces::lacks_any(const model::Namespaces& namespaces, lib::Clock::Time now) const {
  const lib::Lock lock(mutex_);
  return std::any_of(namespaces.begin(), namespaces.end(), [&](const base::Symbol& one) SLUICE_REQUIRES(mutex_) {
    const auto found = ended_.find(one);
    return found == ended_.end() || found->second + span_ <= now;
  });
}

model::Namespaces RecentNamespaces::names(lib::Clock::Time now) const {
  const lib::Lock lock(mutex_);
  model::Namespaces out;
  for (const auto& [name, ended] : ended_) {
    if (ended + span_ > now) out.insert(name);
  }
  return out;
}

std::size_t RecentNamespaces::size() const {
  const lib::Lock lock(mutex_);
  return ended_.size();
}

}  // namespace sluice::sync

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/drain_list.hpp"

#include <utility>

namespace sluice::ipvs {

void DrainList::add(const ServerKey& key, const RealServer& real, Deadline deadline) {
  if (!drains_[key].emplace(real, deadline).second) return;
  ++size_;
  if (deadline != kNever) changed_ = true;
}

void DrainList::remove(const ServerKey& key, const RealServer& real) {
  const auto server = drains_.find(key);
  if (server == drains_.end()) return;
  const auto found = server->second.find(real);
  if (found == server->second.end()) return;
  if (found->second != kNever) changed_ = true;
  server->second.erase(found);
  --size_;
  if (server->second.empty()) drains_.erase(server);
}

void DrainList::remove(const ServerKey& key) {
  const auto server = drains_.find(key);
  if (server == drains_.end()) return;
  for (const auto& [real, deadline] : server->second) {
    if (deadline != kNever) changed_ = true;
  }
  size_ -= server->second.size();
  drains_.erase(server);
}

const DrainList::OfServer* DrainList::of(const ServerKey& key) const {
  const auto server = drains_.find(key);
  return server == drains_.end() ? nullptr : &server->second;
}

bool DrainList::take_changed() noexcept { return std::exchange(changed_, false); }

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/server_cache.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/text.hpp"

namespace sluice::ipvs {
namespace {

using List = std::vector<RealServer>;

bool contains(const List& list, const RealServer& server) {
  return std::binary_search(list.begin(), list.end(), server);
}

}  // namespace

void HeldServer::take_attributes(const VirtualServer& server) {
  scheduler = server.scheduler;
  flags = server.flags;
  persistence_seconds = server.persistence_seconds;
}

const DeviatingServer* HeldServer::find_deviating(const RealServer& server) const {
  const auto found =
      std::lower_bound(deviating.begin(), deviating.end(), server,
                       [](const DeviatingServer& one, const RealServer& other) { return one.server < other; });
  return found != deviating.end() && found->server == server ? &*found : nullptr;
}

HeldServer held_server(const VirtualServer& attributes, const std::vector<RealServerState>& real) {
  HeldServer held;
  held.take_attributes(attributes);
  std::vector<RealServerState> sorted = real;
  // A dump during concurrent writes may list one twice.
  const auto before = [](const RealServerState& one, const RealServerState& other) { return one.server < other.server; };
  std::stable_sort(sorted.begin(), sorted.end(), before);
  const auto same = [](const RealServerState& one, const RealServerState& other) { return one.server == other.server; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  auto list = std::make_shared<List>();
  list->reserve(sorted.size());
  for (const RealServerState& state : sorted) {
    if (state.weight == 1 && state.masquerades) {
      list->push_back(state.server);
    } else {
      held.deviating.push_back({state.server, state.weight, state.masquerades});
    }
  }
  list->shrink_to_fit();
  held.real = std::move(list);
  return held;
}

void apply(RealChanges changes, HeldServer& held, const RealServers& wanted) {
  if (!changes.empty()) {
    lib::sort_unique(changes.normal);
    lib::sort_unique(changes.lowered);
    lib::sort_unique(changes.gone);
    List grown;
    grown.reserve(held.real->size() + changes.normal.size());
    std::set_union(held.real->begin(), held.real->end(), changes.normal.begin(), changes.normal.end(),
                   std::back_inserter(grown));
    std::erase_if(grown, [&](const RealServer& server) {
      return contains(changes.lowered, server) || contains(changes.gone, server);
    });
    std::erase_if(held.deviating, [&](const DeviatingServer& deviating) {
      return contains(changes.normal, deviating.server) || contains(changes.lowered, deviating.server) ||
             contains(changes.gone, deviating.server);
    });
    for (const RealServer& server : changes.lowered) held.deviating.push_back({server, 0, true});
    std::sort(held.deviating.begin(), held.deviating.end(),
              [](const DeviatingServer& one, const DeviatingServer& other) { return one.server < other.server; });
    if (held.deviating.empty()) held.deviating.shrink_to_fit();
    if (!wanted || grown != *wanted) {
      grown.shrink_to_fit();
      held.real = std::make_shared<const List>(std::move(grown));
      return;
    }
    held.real = wanted;
    return;
  }
  if (wanted && held.real != wanted && *held.real == *wanted) held.real = wanted;
}

const HeldServer* ServerCache::find(const ServerKey& key) const {
  const auto found = servers_.find(key);
  return found == servers_.end() ? nullptr : &found->second;
}

void ServerCache::store(const ServerKey& key, HeldServer server) {
  count(server, true);
  const auto [at, is_new] = servers_.try_emplace(key);
  if (!is_new) count(at->second, false);
  at->second = std::move(server);
}

void ServerCache::erase(const ServerKey& key) {
  const auto found = servers_.find(key);
  if (found == servers_.end()) return;
  count(found->second, false);
  servers_.erase(found);
}

void ServerCache::count(const HeldServer& server, bool comes) noexcept {
  if (!server.ours) return;
  const std::size_t real = server.real->size() + server.deviating.size();
  ours_ = comes ? ours_ + 1 : ours_ - 1;
  real_ = comes ? real_ + real : real_ - real;
}

}  // namespace sluice::ipvs

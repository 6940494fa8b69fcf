// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/server_drift.hpp"

#include <algorithm>

namespace sluice::ipvs {
namespace {

std::string count_text(std::size_t count, const std::string& example, const char* what) {
  if (count == 1) return "virtual server " + example + " " + what;
  return std::to_string(count) + " virtual servers (one is " + example + "): each " + what;
}

}  // namespace

std::optional<std::string> server_drift(const ServerCache& cache, std::vector<VirtualServer> found,
                                        abi::Family family) {
  std::sort(found.begin(), found.end(),
            [](const VirtualServer& one, const VirtualServer& other) { return one.key < other.key; });
  std::size_t gone = 0;
  std::size_t changed = 0;
  ServerKey first_gone;
  ServerKey first_changed;
  auto at = found.begin();
  for (const auto& [key, held] : cache.all()) {
    if (!held.ours) continue;
    while (at != found.end() && at->key < key) ++at;
    if (at == found.end() || !(at->key == key)) {
      if (gone++ == 0) first_gone = key;
    } else if (!held.same_attributes(*at)) {
      if (changed++ == 0) first_changed = key;
    }
  }
  if (gone > 0) return count_text(gone, to_string(first_gone, family), "is gone");
  if (changed > 0) return count_text(changed, to_string(first_changed, family), "has another scheduler, flags or timeout");
  return std::nullopt;
}

std::optional<std::string> real_server_drift(const ServerKey& key, const HeldServer& held,
                                             const std::vector<RealServerState>& found, abi::Family family) {
  const auto say = [&](const RealServer& server, const std::string& what) {
    return "real server " + to_string(server, family) + " of virtual server " + to_string(key, family) + " " + what;
  };
  std::size_t normal = 0;
  for (const RealServerState& state : found) {
    if (std::binary_search(held.real->begin(), held.real->end(), state.server)) {
      if (state.weight != 1) return say(state.server, "has the weight " + std::to_string(state.weight));
      if (!state.masquerades) return say(state.server, "forwards in another way");
      ++normal;
      continue;
    }
    const DeviatingServer* const deviating = held.find_deviating(state.server);
    if (deviating == nullptr) return say(state.server, "was added");
    if (deviating->weight != state.weight) return say(state.server, "has the weight " + std::to_string(state.weight));
  }
  // A draining real server may go: it is not wanted.
  if (normal >= held.real->size()) return std::nullopt;
  for (const RealServer& server : *held.real) {
    const auto is_it = [&](const RealServerState& state) { return state.server == server; };
    if (std::none_of(found.begin(), found.end(), is_it)) return say(server, "is gone");
  }
  return std::nullopt;
}

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/server_drift.hpp"

#include <algorithm>
#include <utility>

namespace sluice::ipvs {
namespace {

using ServerDriftKind = ServerDrift::Kind;

std::string count_text(std::size_t count, const std::string& example, const std::string& what) {
  if (count == 1) return "virtual server " + example + " " + what;
  return std::to_string(count) + " virtual servers (one is " + example + "): each " + what;
}

template <class Server>
std::string attributes_text(const Server& server) {
  std::string text = "scheduler " + server.scheduler;
  if (server.persistence_seconds != 0) text += ", persistent for " + std::to_string(server.persistence_seconds) + " s";
  return text + ", flags " + std::to_string(server.flags);
}

std::string real_text(std::int32_t weight, bool masquerades) {
  return "weight " + std::to_string(weight) + (masquerades ? "" : ", forwarding method not NAT");
}

}  // namespace

void compare_servers(const ServerCache& cache, std::vector<VirtualServerState> found, const OnServerDrift& on_drift) {
  std::sort(found.begin(), found.end(),
            [](const VirtualServer& one, const VirtualServer& other) { return one.key < other.key; });
  auto at = found.begin();
  const auto pass = [&] { on_drift({ServerDriftKind::kAdded, (at++)->key}); };
  for (const auto& [key, held] : cache.all()) {
    if (!held.ours) continue;
    while (at != found.end() && at->key < key) pass();
    if (at == found.end() || !(at->key == key)) {
      on_drift({ServerDriftKind::kGone, key, {}, "is gone"});
      continue;
    }
    if (!held.same_attributes(*at)) {
      on_drift({ServerDriftKind::kChanged, key, {}, "has another scheduler, flags or timeout", attributes_text(held),
                attributes_text(*at)});
    }
    while (at != found.end() && at->key == key) ++at;  // a dump may list one twice
  }
  while (at != found.end()) pass();
}

void compare_real_servers(const ServerKey& key, const HeldServer& held, const std::vector<RealServerState>& found,
                          const OnServerDrift& on_drift) {
  std::size_t normal = 0;
  for (const RealServerState& state : found) {
    const bool is_normal = std::binary_search(held.real->begin(), held.real->end(), state.server);
    const DeviatingServer* const deviating = is_normal ? nullptr : held.find_deviating(state.server);
    if (!is_normal && deviating == nullptr) {
      on_drift({ServerDriftKind::kAdded, key, state.server, "was added", {},
                real_text(state.weight, state.masquerades)});
      continue;
    }
    const std::int32_t weight = is_normal ? 1 : deviating->weight;
    const bool forwards = !is_normal || state.masquerades;
    if (weight != state.weight || !forwards) {
      const std::string what =
          weight != state.weight ? "has the weight " + std::to_string(state.weight) : "forwards in another way";
      const std::string was = real_text(weight, is_normal || deviating->masquerades);
      on_drift({ServerDriftKind::kChanged, key, state.server, what, was,
                real_text(state.weight, state.masquerades)});
    }
    if (is_normal) ++normal;
  }
  // A draining real server may go: it is not wanted.
  if (normal >= held.real->size()) return;
  for (const RealServer& server : *held.real) {
    const auto is_it = [&](const RealServerState& state) { return state.server == server; };
    if (std::any_of(found.begin(), found.end(), is_it)) continue;
    on_drift({ServerDriftKind::kGone, key, server, "is gone"});
  }
}

std::optional<std::string> server_drift(const ServerCache& cache, std::vector<VirtualServerState> found,
                                        abi::Family family) {
  struct Counted {
    std::size_t number = 0;
    ServerDrift first{};
  } gone, changed;
  compare_servers(cache, std::move(found), [&](const ServerDrift& drift) {
    if (drift.kind == ServerDriftKind::kAdded) return;
    Counted& counted = drift.kind == ServerDriftKind::kGone ? gone : changed;
    if (counted.number++ == 0) counted.first = drift;
  });
  for (const Counted* const one : {&gone, &changed}) {
    if (one->number > 0) return count_text(one->number, to_string(one->first.key, family), one->first.what);
  }
  return std::nullopt;
}

std::optional<std::string> real_server_drift(const ServerKey& key, const HeldServer& held,
                                             const std::vector<RealServerState>& found, abi::Family family) {
  std::optional<std::string> first;
  compare_real_servers(key, held, found, [&](const ServerDrift& drift) {
    if (first) return;
    first = "real server " + to_string(*drift.real, family) + " of virtual server " + to_string(key, family) + " " +
            drift.what;
  });
  return first;
}

}  // namespace sluice::ipvs

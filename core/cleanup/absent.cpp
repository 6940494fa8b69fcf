// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/absent.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/cleanup/names.hpp"

namespace sluice::cleanup {
namespace {

constexpr std::string_view kIpvsBackend = "ipvs";

template <class List, class T>
bool contains(const List& list, const T& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

std::chrono::seconds time_left(const ownership::Claim& claim, const AbsentInput& input) {
  if (claim.state != ownership::ClaimState::retiring || !claim.until) return input.drain;
  const auto left = std::chrono::ceil<std::chrono::seconds>(*claim.until - input.now);
  return std::clamp(left, std::chrono::seconds(0), input.drain);
}

void add(Absent& into, const ownership::Claim& claim, std::chrono::seconds drain) {
  into.backend = claim.backend;
  into.family = claim.family;
  into.drain = std::max(into.drain, drain);
  if (!claim.plugin.empty()) into.plugin = claim.plugin;
  into.artifacts.insert(into.artifacts.end(), claim.artifacts.begin(), claim.artifacts.end());
  const auto forget = [&](ownership::ClaimState state) {
    if (!contains(into.states, state)) into.states.push_back(state);
  };
  forget(claim.state);
  // From the moment the own backend is recorded as serving.
  if (claim.state == ownership::ClaimState::serving) forget(ownership::ClaimState::retiring);
}

}  // namespace

std::vector<Absent> find_absent(const AbsentInput& input) {
  std::map<std::pair<std::string, base::Family>, Absent> found;
  for (const ownership::Claim& claim : input.ledger) {
    const bool own = claim.backend == input.own && contains(input.families, claim.family);
    // What it has served with, or was about to, it takes over.
    if (own && claim.state != ownership::ClaimState::retiring) continue;
    add(found[{claim.backend, claim.family}], claim, time_left(claim, input));
  }
  const Modes own_mode = mode_of(input.own);
  if (input.ipvs_stands && own_mode != 0 && own_mode != kIpvs && contains(input.installed, kIpvsBackend)) {
    for (const base::Family family : input.families) {
      Absent& absent = found[{std::string(kIpvsBackend), family}];
      if (!absent.states.empty()) continue;  // the ledger knows it
      absent.backend = kIpvsBackend;
      absent.family = family;
      absent.drain = input.drain;
      absent.artifacts = artifacts_of(kIpvs, family);
    }
  }
  std::vector<Absent> out;
  for (auto& [key, absent] : found) {
    const bool by_plugin = absent.backend != input.own && contains(input.families, absent.family) &&
                           contains(input.installed, absent.backend);
    absent.by = by_plugin ? Absent::By::plugin : Absent::By::remover;
    std::sort(absent.artifacts.begin(), absent.artifacts.end());
    absent.artifacts.erase(std::unique(absent.artifacts.begin(), absent.artifacts.end()), absent.artifacts.end());
    out.push_back(std::move(absent));
  }
  return out;
}

}  // namespace sluice::cleanup

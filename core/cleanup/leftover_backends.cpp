// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/leftover_backends.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/cleanup/names.hpp"
#include "lib/text.hpp"
#include "names/objects.hpp"

namespace sluice::cleanup {
namespace {

// The mode whose virtual servers may have connections.
constexpr Modes kServersMode = names::kVirtualServers.modes;
constexpr std::string_view kServersBackend = names::id_of(kServersMode);

std::chrono::seconds remaining_drain(const ownership::Claim& claim, const LeftoverInput& input) {
  if (claim.state != ownership::ClaimState::retiring || !claim.until) return input.drain;
  const auto left = std::chrono::ceil<std::chrono::seconds>(*claim.until - input.now);
  return std::clamp(left, std::chrono::seconds(0), input.drain);
}

void add(LeftoverBackend& into, const ownership::Claim& claim, std::chrono::seconds drain) {
  into.backend = claim.backend;
  into.family = claim.family;
  into.drain = std::max(into.drain, drain);
  if (!claim.plugin.empty()) into.plugin = claim.plugin;
  into.artifacts.insert(into.artifacts.end(), claim.artifacts.begin(), claim.artifacts.end());
  const auto add_state = [&](ownership::ClaimState state) {
    if (!lib::contains(into.states, state)) into.states.push_back(state);
  };
  add_state(claim.state);
  // Recording the active backend as serving turns this entry into a retiring one.
  if (claim.state == ownership::ClaimState::serving) add_state(ownership::ClaimState::retiring);
}

}  // namespace

std::vector<LeftoverBackend> find_leftover_backends(const LeftoverInput& input) {
  std::map<std::pair<std::string, lib::Family>, LeftoverBackend> found;
  for (const ownership::Claim& claim : input.ownership_ledger) {
    const bool is_active = claim.backend == input.own && lib::contains(input.families, claim.family);
    // The active backend adopts what it serves with or was about to serve with.
    if (is_active && claim.state != ownership::ClaimState::retiring) continue;
    add(found[{claim.backend, claim.family}], claim, remaining_drain(claim, input));
  }
  const Modes active_mode = mode_of(input.own);
  // A backend that is not a mode of kube-proxy may run beside kube-proxy, whose IPVS state then stays.
  if (input.ipvs_in_use && active_mode != 0 && active_mode != kServersMode &&
      lib::contains(input.installed, kServersBackend)) {
    for (const lib::Family family : input.families) {
      LeftoverBackend& leftover = found[{std::string(kServersBackend), family}];
      if (!leftover.states.empty()) continue;  // it is in the ownership ledger
      leftover.backend = kServersBackend;
      leftover.family = family;
      leftover.drain = input.drain;
      leftover.artifacts = artifacts_of(kServersMode, family);
    }
  }
  std::vector<LeftoverBackend> out;
  for (auto& [key, leftover] : found) {
    // Entries of the active backend that are listed here hold artifacts that only an earlier version of its plugin made.
    // Its current plugin cannot remove them.
    const bool by_plugin = leftover.backend != input.own && lib::contains(input.families, leftover.family) &&
                           lib::contains(input.installed, leftover.backend);
    leftover.by = by_plugin ? LeftoverBackend::By::plugin : LeftoverBackend::By::remover;
    lib::sort_unique(leftover.artifacts);
    out.push_back(std::move(leftover));
  }
  return out;
}

}  // namespace sluice::cleanup

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/app/config/feature_gates.hpp"

#include <algorithm>
#include <array>

namespace sluice::app {
namespace {

constexpr std::string_view kLogging = "logging options are always available";
constexpr std::string_view kAlways = "what it stands for is always on";

constexpr std::array kGates = std::to_array<FeatureGate>({
    {"AllAlpha", false, "no gate that has one is in that state"},
    {"AllBeta", false, ""},
    {"AllowServiceExternalIPs", true, ""},
    {"ComponentFlagz", true, ""},
    {"ComponentStatusz", true, ""},
    {"ContextualLogging", true, "lines name their object"},
    {"LoggingAlphaOptions", false, kLogging},
    {"LoggingBetaOptions", true, kLogging},
    {"MultiCIDRServiceAllocator", true, kAlways},
    {"PreferSameTrafficDistribution", true, kAlways},
    {"WatchListClient", true, "set KUBE_FEATURE_WatchListClient in the environment"},
});

}  // namespace

std::span<const FeatureGate> feature_gates() { return kGates; }

const FeatureGate* find_feature_gate(std::string_view name) {
  const auto found = std::find_if(kGates.begin(), kGates.end(), [&](const auto& gate) { return gate.name == name; });
  return found == kGates.end() ? nullptr : &*found;
}

std::string feature_gate_names() {
  std::string out;
  for (const FeatureGate& gate : kGates) out += (out.empty() ? "" : ", ") + std::string(gate.name);
  return out;
}

}  // namespace sluice::app

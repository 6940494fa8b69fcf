// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/config/feature_gates.hpp"

#include <algorithm>
#include <array>

namespace sluice::config {
namespace {

constexpr std::string_view kLogging = "logging options are always available";
constexpr std::string_view kAlways = "the feature is always on";

struct Row {
  std::string_view name;
  GateEffect effect;
};

// Gates of kube-proxy itself.
constexpr std::array kRows = std::to_array<Row>({
    {"AllAlpha", {false, "no alpha gate has an effect"}},
    {"AllBeta", {true, {}}},
    {"AllowServiceExternalIPs", {true, {}}},
    {"ComponentFlagz", {true, {}}},
    {"ComponentStatusz", {true, {}}},
    {"ContextualLogging", {false, "log lines always name their object"}},
    {"LoggingAlphaOptions", {false, kLogging}},
    {"LoggingBetaOptions", {false, kLogging}},
    {"MultiCIDRServiceAllocator", {false, kAlways}},
    {"PreferSameTrafficDistribution", {false, kAlways}},
    {"WatchListClient", {false, "set KUBE_FEATURE_WatchListClient in the environment"}},
});

}  // namespace

const FeatureGate* find_feature_gate(std::string_view name) {
  const auto gates = feature_gates();
  const auto at = std::lower_bound(gates.begin(), gates.end(), name,
                                   [](const FeatureGate& gate, auto wanted) { return gate.name < wanted; });
  return at != gates.end() && at->name == name ? &*at : nullptr;
}

GateEffect effect_of(const FeatureGate& gate) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == gate.name; });
  return found == kRows.end() ? GateEffect() : found->effect;
}

std::string_view stage_label(GateStage stage) {
  switch (stage) {
    case GateStage::alpha:
      return "ALPHA";
    case GateStage::beta:
      return "BETA";
    case GateStage::ga:
      break;
  }
  return {};
}

}  // namespace sluice::config

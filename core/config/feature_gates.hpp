// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The feature gates of the supported kube-proxy release (BEH 11.10). Installers copy the gates of a whole cluster into
// the configuration of every component, so all are accepted; few have an effect.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::config {

enum class GateStage : std::uint8_t { alpha, beta, ga };

struct FeatureGate {
  std::string_view name;
  GateStage stage = GateStage::alpha;
  bool default_on = false;
  bool locked = false;  // the other value is an error
};

// Sorted by name.
std::span<const FeatureGate> feature_gates();
// Null for an unknown gate.
const FeatureGate* find_feature_gate(std::string_view name);

// The effect of a gate in this program.
struct GateEffect {
  bool any = false;
  std::string_view instead;  // if not `any`: the reason, or empty for gates of other components
};
GateEffect effect_of(const FeatureGate& gate);

// Label of the metric kubernetes_feature_enabled: "ALPHA", "BETA", or empty.
std::string_view stage_label(GateStage stage);

}  // namespace sluice::config

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The feature gates that kube-proxy of the release we follow accepts (BEH 11.10). Installers copy the gates of a whole
// cluster into the configuration of every component, so all are accepted; few have an effect.
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
// Null if kube-proxy does not accept it.
const FeatureGate* find_feature_gate(std::string_view name);

// What a gate does in this program.
struct GateEffect {
  bool any = false;
  std::string_view instead;  // if not `any`: why it has none, or empty for gates of other components
};
GateEffect effect_of(const FeatureGate& gate);

// As the metric kubernetes_feature_enabled has it: "ALPHA", "BETA", or empty.
std::string_view stage_label(GateStage stage);

}  // namespace sluice::config

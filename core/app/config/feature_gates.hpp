// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The feature gates a kube-proxy of the release we follow knows (BEH 11.10).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice::app {

struct FeatureGate {
  std::string_view name;
  bool default_on = false;
  std::string_view instead;  // empty: it has its effect; otherwise why it has none
};

std::span<const FeatureGate> feature_gates();
const FeatureGate* find_feature_gate(std::string_view name);

// Names with commas between, for messages.
std::string feature_gate_names();

}  // namespace sluice::app

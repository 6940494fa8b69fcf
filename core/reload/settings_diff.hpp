// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What differs between two configurations, which part of the daemon each difference is a
// matter of, and what cannot be changed while it runs. Pure. What files say that settings
// only name (a kubeconfig, a plugin) is not seen here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/settings.hpp"

namespace sluice::reload {

enum class SettingsPart : std::uint8_t {
  none,     // nothing that runs depends on it
  backend,  // what serves, and what it is told of the node
  source,
  serve,   // the addresses of health and metrics
  kernel,  // sysctls and other kernel settings beside rules
  logging,
};

struct SettingsChange {
  std::string setting;  // as the configuration calls it: "hostnameOverride"
  SettingsPart part = SettingsPart::none;
  std::string refusal;  // why it cannot change live and what to do; empty: it can

  bool operator==(const SettingsChange&) const = default;
};

// In the order of the fields of Settings; empty when they are equal.
std::vector<SettingsChange> settings_diff(const config::Settings& from, const config::Settings& to);

// Whether anything in it that can change live is a matter of `part`.
bool concerns(const std::vector<SettingsChange>& changes, SettingsPart part);

// A sentence for each change that cannot be made live: "hostnameOverride: …".
std::vector<std::string> refusals(const std::vector<SettingsChange>& changes);

}  // namespace sluice::reload

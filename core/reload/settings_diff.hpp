// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The differences between two configurations, the part of the daemon that each concerns, and the differences that
// cannot be applied live. Covers the paths of a kubeconfig or a plugin, but not the content of these files. No I/O.
#pragma once

#include <string>
#include <vector>

#include "core/config/option.hpp"
#include "core/config/settings.hpp"

namespace sluice::reload {

using config::SettingsPart;

struct SettingsChange {
  std::string setting;  // name in the configuration: "hostnameOverride"
  SettingsPart part = SettingsPart::none;
  std::string refusal;  // why it cannot be applied live, and the remedy; empty: it can

  bool operator==(const SettingsChange&) const = default;
};

// In the order of config::ChangeRule::order; empty if they are equal.
std::vector<SettingsChange> settings_diff(const config::Settings& from, const config::Settings& to);

// Whether a change that can be applied live concerns `part`.
bool concerns(const std::vector<SettingsChange>& changes, SettingsPart part);

// A sentence for each change that cannot be applied live: "hostnameOverride: …".
std::vector<std::string> refusals(const std::vector<SettingsChange>& changes);

}  // namespace sluice::reload

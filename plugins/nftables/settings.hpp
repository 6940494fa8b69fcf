// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings, read once from the flattened options. Values.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/common/settings/table.hpp"
#include "sluice/sdk/options.hpp"

namespace sluice::nftables {

struct Settings {
  bool counters = false;                    // packets and bytes of each Service
  std::uint32_t affinity_clients = 262144;  // of one family, remembered at once for session affinity
};

// Throws sdk::Failure (kInvalid) whose object is the key: unknown, malformed or out of range, and what is allowed.
Settings read_settings(const sdk::Options& options);

// One key read_settings() knows, for tests and the documentation.
using SettingKey = settings::Key;
std::vector<SettingKey> setting_keys();

}  // namespace sluice::nftables

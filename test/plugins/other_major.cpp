// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; the descriptor names another ABI major version.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("other_major");
  entry.major = zoo::abi::kMajor + 7;
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

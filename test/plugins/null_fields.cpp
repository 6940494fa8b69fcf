// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; the version in the descriptor is null.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("null_fields");
  entry.version = nullptr;
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

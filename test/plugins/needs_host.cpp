// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; needs a host feature that no daemon has.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("needs_host");
  entry.needs_host = 1ull << 40;
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

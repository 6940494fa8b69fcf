// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; struct_size is smaller than the first released descriptor.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("short_descriptor");
  entry.struct_size = 48;
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

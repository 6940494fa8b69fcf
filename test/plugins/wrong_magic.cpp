// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; the first word of the descriptor is not the magic number.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("wrong_magic");
  entry.magic = 0x21534F4E;
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: none wrong; a minor version and a descriptor from the future load.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry spoilt() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("other_minor");
  entry.minor = zoo::abi::kMinor + 7;
  entry.struct_size = sizeof(entry) + 64;
  return entry;
}

SLUICE_PLUGIN_ENTRY = spoilt();

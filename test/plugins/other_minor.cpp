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

struct NewerEntry {
  zoo::abi::PluginEntry known;
  std::uint64_t more[8];
};

// As SLUICE_PLUGIN_ENTRY of that future.
extern "C" [[gnu::visibility("default"), gnu::section(SLUICE_ABI_SECTION)]] const NewerEntry sluice_plugin_entry;
constexpr NewerEntry sluice_plugin_entry{spoilt(), {}};

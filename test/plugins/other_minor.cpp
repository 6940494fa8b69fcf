// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: no faults; a newer minor version with a longer descriptor.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("other_minor");
  entry.minor = zoo::abi::kMinor + 7;
  entry.struct_size = sizeof(entry) + 64;
  return entry;
}

struct NewerEntry {
  zoo::abi::PluginEntry known;
  std::uint64_t more[8];
};

// What SLUICE_PLUGIN_ENTRY of that version would expand to.
extern "C" [[gnu::visibility("default"), gnu::section(SLUICE_ABI_SECTION)]] const NewerEntry sluice_plugin_entry;
constexpr NewerEntry sluice_plugin_entry{modified(), {}};

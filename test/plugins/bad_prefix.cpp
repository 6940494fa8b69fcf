// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: asks for annotations with an invalid prefix.
#include "zoo.hpp"

constexpr zoo::abi::StringView kPrefixes[] = {zoo::sdk::view("weight")};

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("bad_prefix");
  entry.annotation_prefixes = zoo::sdk::array(kPrefixes, 1);
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

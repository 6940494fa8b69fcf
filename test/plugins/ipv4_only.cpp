// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: no faults; supports IPv4 and full transactions only.
#include "zoo.hpp"

constexpr zoo::abi::PluginEntry modified() {
  zoo::abi::PluginEntry entry = zoo::plain_entry("ipv4_only");
  entry.features = zoo::abi::kFeatureIpv4;
  return entry;
}

SLUICE_PLUGIN_ENTRY = modified();

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: exports the right symbol, but outside of section sluice_abi. Its constructor sets SLUICE_ZOO_RAN and
// must not run.
#include <cstdlib>

#include "zoo.hpp"

namespace {
[[maybe_unused]] const int kRan = setenv("SLUICE_ZOO_RAN", "no_section", 1);
}

extern "C" [[gnu::visibility("default")]] const zoo::abi::PluginEntry sluice_plugin_entry;
const zoo::abi::PluginEntry sluice_plugin_entry = zoo::plain_entry("no_section");

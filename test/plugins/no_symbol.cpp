// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: has the section sluice_abi, but does not export its descriptor.
#include "zoo.hpp"

[[gnu::section("sluice_abi"), gnu::used]] static const zoo::abi::PluginEntry hidden_entry =
    zoo::plain_entry("no_symbol");

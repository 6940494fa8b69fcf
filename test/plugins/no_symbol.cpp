// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: has the section sluice_abi; the descriptor in it is not exported.
#include "zoo.hpp"

[[gnu::section("sluice_abi"), gnu::used]] static const zoo::abi::PluginEntry hidden_entry =
    zoo::plain_entry("no_symbol");

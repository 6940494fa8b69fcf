// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; calls itself otherwise than its file.
#include "zoo.hpp"

SLUICE_PLUGIN_ENTRY = zoo::plain_entry("somebody_else");

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Characteristics: loads; its id differs from its file name.
#include "zoo.hpp"

SLUICE_PLUGIN_ENTRY = zoo::plain_entry("other_id");

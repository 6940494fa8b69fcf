// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The entry point of the plugin.

#if HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugins/common/entry.hpp"
#include "plugins/ipvs/backend.hpp"
#include "plugins/ipvs/declared_metrics.hpp"
#include "plugins/ipvs/option_table.hpp"

SLUICE_PLUGIN_ENTRY = sluice::common::entry<sluice::ipvs::IpvsBackend>(
    "ipvs", sluice::sdk::array(sluice::ipvs::kOptions), sluice::sdk::array(sluice::ipvs::metric::kAll),
    sluice::abi::kFeatureOwnConnections);

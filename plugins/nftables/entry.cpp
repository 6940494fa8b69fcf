// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Plugin entry. This backend does not drain: connections live on in conntrack when the table is gone.

#if HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugins/common/entry.hpp"
#include "plugins/nftables/backend.hpp"
#include "plugins/nftables/declared_metrics.hpp"
#include "plugins/nftables/option_table.hpp"

SLUICE_PLUGIN_ENTRY = sluice::common::entry<sluice::nftables::NftablesBackend>(
    "nftables", sluice::sdk::array(sluice::nftables::kOptions), sluice::sdk::array(sluice::nftables::metric::kAll),
    sluice::abi::kFeatureServiceCidrs);

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Plugin entry. This backend does not drain: connections live on in conntrack when the table is gone.

#if HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugins/nftables/backend.hpp"
#include "sluice/sdk/sdk.hpp"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0"
#endif

namespace abi = sluice::abi;

SLUICE_PLUGIN_ENTRY = {abi::kMagic,
                       abi::kMajor,
                       abi::kMinor,
                       sizeof(abi::PluginEntry),
                       0,
                       abi::kFeatureIpv4 | abi::kFeatureIpv6 | abi::kFeatureDelta | abi::kFeatureAffinity |
                           abi::kFeatureServiceCidrs,
                       abi::kHostFeatureNone,
                       "nftables",
                       PACKAGE_VERSION,
                       __VERSION__,
                       &sluice::sdk::create<sluice::nftables::NftablesBackend>};

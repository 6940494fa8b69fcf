// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The entry point of the plugin.

#if HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugins/ipvs/backend.hpp"
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
                           abi::kFeatureOwnConnections,
                       abi::kHostFeatureNone,
                       "ipvs",
                       PACKAGE_VERSION,
                       __VERSION__,
                       &sluice::sdk::create<sluice::ipvs::IpvsBackend>};

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The plugin entry of this backend.

#if HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugins/common/entry.hpp"
#include "plugins/iptables/backend.hpp"
#include "plugins/iptables/declared_metrics.hpp"

SLUICE_PLUGIN_ENTRY = sluice::common::entry<sluice::iptables::IptablesBackend>(
    "iptables", sluice::sdk::option::none(), sluice::sdk::array(sluice::iptables::metric::kAll));

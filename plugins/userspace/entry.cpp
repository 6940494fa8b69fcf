// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The plugin entry of this backend.

#if HAVE_CONFIG_H
#include "config.h"
#endif

#include "plugins/common/entry.hpp"
#include "plugins/userspace/backend.hpp"
#include "plugins/userspace/declared_metrics.hpp"
#include "plugins/userspace/option_table.hpp"

SLUICE_PLUGIN_ENTRY = sluice::common::entry<sluice::userspace::UserspaceBackend>(
    "userspace", sluice::sdk::array(sluice::userspace::kOptions), sluice::sdk::array(sluice::userspace::metric::kAll));

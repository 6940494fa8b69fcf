// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Includes all headers of the plugin ABI.
#pragma once

#include "sluice/abi/affinity.hpp"
#include "sluice/abi/descriptors.hpp"
#include "sluice/abi/entry.hpp"
#include "sluice/abi/inspection.hpp"
#include "sluice/abi/metrics.hpp"
#include "sluice/abi/options.hpp"
#include "sluice/abi/preparation.hpp"
#include "sluice/abi/relay.hpp"
#include "sluice/abi/status.hpp"

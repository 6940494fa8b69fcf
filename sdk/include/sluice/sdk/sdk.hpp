// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Includes all headers of the SDK. It is compiled into the plugin and is not part of the ABI: it may change with each
// release of the SDK.
#pragma once

#include "sluice/abi/abi.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/affinity.hpp"
#include "sluice/sdk/backend_base.hpp"
#include "sluice/sdk/claims.hpp"
#include "sluice/sdk/deadline.hpp"
#include "sluice/sdk/error.hpp"
#include "sluice/sdk/inspection.hpp"
#include "sluice/sdk/logger.hpp"
#include "sluice/sdk/metrics.hpp"
#include "sluice/sdk/nearest.hpp"
#include "sluice/sdk/options.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

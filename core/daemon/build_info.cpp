// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/build_info.hpp"

#include "config.h"

namespace sluice::daemon {

const char* const kVersion = PACKAGE_VERSION;
const char* const kPluginDir = SLUICE_PLUGIN_DIR;

}  // namespace sluice::daemon

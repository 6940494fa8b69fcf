// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "config.h"

#include "core/app/build_info.hpp"

namespace sluice::app {

const char* const kVersion = PACKAGE_VERSION;
const char* const kPluginDir = SLUICE_PLUGIN_DIR;

}  // namespace sluice::app

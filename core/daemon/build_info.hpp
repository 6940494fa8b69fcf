// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Version and paths of this build.
#pragma once

namespace sluice::daemon {

extern const char* const kVersion;    // "0.1.0"
extern const char* const kPluginDir;  // where `make install` puts backends

}  // namespace sluice::daemon

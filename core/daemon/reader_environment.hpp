// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon passes to the reader of its settings: defaults of this build and access to the machine.
#pragma once

#include "core/reload/settings_reader.hpp"

namespace sluice::daemon {

reload::ReaderEnvironment reader_environment();

}  // namespace sluice::daemon

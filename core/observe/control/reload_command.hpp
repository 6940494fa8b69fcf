// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the control socket answers to {"command":"reload"}: the result of a reload that reads the files after that, or,
// after "timeout_seconds", that it goes on and where it is.
#pragma once

#include "core/observe/control/control_server.hpp"
#include "core/reload/reloader.hpp"

namespace sluice::observe {

// The reloader outlives the server that has this.
ControlServer::SlowHandler reload_command(reload::Reloader& reloader);

}  // namespace sluice::observe

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the control socket answers to {"command":"reload"}: the result of a reload that reads the files after that, or,
// after "timeout_seconds", that it goes on and where it is.
#pragma once

#include "core/app/reload/reloader.hpp"
#include "core/serve/control_server.hpp"

namespace sluice::app {

// The reloader outlives the server that has this.
serve::ControlServer::SlowHandler reload_command(Reloader& reloader);

}  // namespace sluice::app

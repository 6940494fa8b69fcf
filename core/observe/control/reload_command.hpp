// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Handles {"command":"reload"}: answers with the result of a reload that reads the files after the request or, after
// "timeout_seconds", with the state of the running reload.
#pragma once

#include "core/observe/control/control_server.hpp"
#include "core/reload/reloader.hpp"

namespace sluice::observe {

// The reloader must outlive the server.
ControlServer::SlowHandler reload_command(reload::Reloader& reloader);

}  // namespace sluice::observe

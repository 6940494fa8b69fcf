// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// --cleanup: the node as if no service proxy had ever run.
#pragma once

#include <string>

#include "core/config/settings.hpp"

namespace sluice::daemon {

// Lets every installed backend remove what it ever made, then removes what is left of
// kube-proxy in all its modes, and what the ledger in `state_dir` names of backends that
// are no longer installed; both families. True when all of it worked; each failure is
// logged in one sentence. Blocks. Needs no API server.
bool clean_up(const config::PluginSettings& plugins, const std::string& state_dir);

}  // namespace sluice::daemon

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// --cleanup: removes all state of service proxies from the node.
#pragma once

#include <string>

#include "core/config/settings.hpp"

namespace sluice::daemon {

// Calls cleanup() of every installed backend, then removes leftover state of kube-proxy in
// all its modes, and artifacts that the ownership ledger in `state_dir` lists for backends
// that are no longer installed; in both families. Returns whether all of it succeeded;
// each failure is logged in one sentence. Blocks. Needs no API server.
bool clean_up(const config::PluginSettings& plugins, const std::string& state_dir);

}  // namespace sluice::daemon

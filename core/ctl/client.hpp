// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Sends a request to a running sluiced through its control socket.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/status.hpp"

namespace sluice::ctl {

// The result of a request such as {"command": "status"}. The error message is for the operator: no daemon, no
// permission, no reply within `timeout`, or the error of the daemon.
lib::Result<nlohmann::json> send_request(const std::string& state_dir, const nlohmann::json& request,
                                         std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace sluice::ctl

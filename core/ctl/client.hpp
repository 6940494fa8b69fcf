// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One question to a running sluiced, over its control socket.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/status.hpp"

namespace sluice::ctl {

// The result of a question such as {"command": "status"}. A failure is a sentence for the operator: no daemon, no
// permission, no answer within `patience`, or what the daemon itself says.
base::Result<nlohmann::json> ask(const std::string& state_dir, const nlohmann::json& question,
                                 std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace sluice::ctl

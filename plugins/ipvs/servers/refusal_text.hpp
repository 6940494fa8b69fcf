// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Error text for a command that IPVS rejected: virtual server, cause, remedy. Pure.
#pragma once

#include <string>

#include "plugins/ipvs/servers/server_kernel.hpp"

namespace sluice::ipvs {

std::string refusal_text(const ServerCommand& command, int error, abi::Family family);

}  // namespace sluice::ipvs

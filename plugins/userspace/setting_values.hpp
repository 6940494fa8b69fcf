// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parsing of port ranges. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "plugins/userspace/settings.hpp"

namespace sluice::userspace {

// "a-b", "a+n" (n ports more than the first) or "a". Empty, or a first port of 0: the kernel chooses.
std::optional<PortRange> parse_port_range(std::string_view text);

}  // namespace sluice::userspace

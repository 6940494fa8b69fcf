// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One kernel setting under /proc/sys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::sysctl {

// "net/ipv4/conf/all/route_localnet" → its text without the line feed; empty when it
// cannot be read.
std::optional<std::string> read(std::string_view name);

// Writes `value` unless it is there already. 0, or the errno of the failure.
[[nodiscard]] int ensure(std::string_view name, std::string_view value);

}  // namespace sluice::sysctl

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One kernel setting under /proc/sys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::sysctl {

// The value of "net/ipv4/conf/all/route_localnet" without the trailing newline; empty if it
// cannot be read.
std::optional<std::string> read(std::string_view name);

// Writes `value` unless the setting has it already. Returns 0 or an errno.
[[nodiscard]] int ensure(std::string_view name, std::string_view value);

}  // namespace sluice::sysctl

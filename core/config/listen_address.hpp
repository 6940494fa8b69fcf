// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Addresses to listen on, "IP" or "IP:port", as kube-proxy writes them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/ip.hpp"

namespace sluice::config {

// Adds ":port" to an address that has none; anything that is no address stays as it is.
std::string with_port(const std::string& address, int port);

// "1.2.3.4:80" or "[fd00::1]:80"; the port is 1 to 65535.
std::optional<base::SocketAddress> parse_listen_address(std::string_view text);

}  // namespace sluice::config

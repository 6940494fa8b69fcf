// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Listen addresses, "IP" or "IP:port", in the format of kube-proxy. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/ip.hpp"

namespace sluice::config {

// Adds ":port" to an address without a port; any other text is returned unchanged.
std::string with_port(const std::string& address, int port);

// "1.2.3.4:80" or "[fd00::1]:80"; the port is 1 to 65535.
std::optional<lib::SocketAddress> parse_listen_address(std::string_view text);

}  // namespace sluice::config

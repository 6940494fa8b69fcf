// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Parses the addresses of servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/status.hpp"

namespace sluice::kube {

// The parts of "https://api.example:6443/base".
struct ServerUrl {
  bool tls = true;
  std::string host;  // a name or an IP literal, without brackets
  std::uint16_t port = 443;
  std::string base_path;  // "" or "/base"

  std::string to_string() const;
};

// The scheme may be missing, as kubectl allows ("10.0.0.1:8080" means http).
lib::Result<ServerUrl> parse_server_url(const std::string& text);

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// Parses "host", "host:port" or "[address]:port"; `port` is the default. The error has only the reason.
lib::Result<HostPort> parse_authority(std::string_view authority, std::uint16_t port);

// The host for a URL: an IPv6 address in brackets, anything else unchanged.
std::string in_url(const std::string& host);

}  // namespace sluice::kube

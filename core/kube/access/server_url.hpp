// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Addresses of servers as people write them, taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

namespace sluice::kube {

// "https://api.example:6443/base" taken apart.
struct ServerUrl {
  bool tls = true;
  std::string host;  // a name or an IP literal, without brackets
  std::uint16_t port = 443;
  std::string base_path;  // "" or "/base"

  std::string to_string() const;
};

// The scheme may be missing, as kubectl allows ("10.0.0.1:8080" means http).
base::Result<ServerUrl> parse_server_url(const std::string& text);

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// "host", "host:port", "[address]:port"; `port` is the one when none is written. The
// failure says only what is wrong.
base::Result<HostPort> parse_authority(std::string_view authority, std::uint16_t port);

// For URLs: an IPv6 address in brackets, anything else as it is.
std::string in_url(const std::string& host);

}  // namespace sluice::kube

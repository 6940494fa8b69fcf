// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The HTTP proxy to the API server, from the kubeconfig or the environment (rules of Go's ProxyFromEnvironment). HTTPS
// and SOCKS proxies are not supported by the HTTP library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/kube/access/server_url.hpp"
#include "lib/status.hpp"

namespace sluice::kube {

// Environment variable → value, empty when not set.
using Environment = std::function<std::string(const std::string&)>;

struct Proxy {
  std::string host;  // a name or an IP literal, without brackets
  std::uint16_t port = 80;
  std::string username;  // empty: no credentials
  std::string password;
  std::string origin;  // for messages: the field or variable that names it

  std::string to_string() const;  // without credentials
};

// `origin` names the field or the variable. Errors begin with it and never contain the URL, which may hold a password.
lib::Result<Proxy> parse_proxy_url(const std::string& text, const std::string& origin);

// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or in lower case. Absent: connect directly.
lib::Result<std::optional<Proxy>> proxy_from_environment(const ServerUrl& server, const Environment& environment);

}  // namespace sluice::kube

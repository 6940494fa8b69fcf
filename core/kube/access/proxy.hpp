// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The HTTP proxy on the way to the API server: named by the kubeconfig, or by the
// environment by the rules of Go's ProxyFromEnvironment. HTTP proxies alone: the HTTP
// library speaks neither TLS nor SOCKS to a proxy.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/status.hpp"
#include "core/kube/access/server_url.hpp"

namespace sluice::kube {

// Environment variable → value, empty when not set.
using Environment = std::function<std::string(const std::string&)>;

struct Proxy {
  std::string host;  // a name or an IP literal, without brackets
  std::uint16_t port = 80;
  std::string username;  // empty: no credentials
  std::string password;
  std::string origin;  // for people: where it was named

  std::string to_string() const;  // without credentials
};

// `origin` names the field or the variable. A failure is one sentence that begins with
// it and never repeats the URL, which may hold a password.
base::Result<Proxy> parse_proxy_url(const std::string& text, const std::string& origin);

// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or in lower case. Absent: connect directly.
base::Result<std::optional<Proxy>> proxy_from_environment(const ServerUrl& server, const Environment& environment);

}  // namespace sluice::kube

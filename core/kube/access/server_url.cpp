// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/server_url.hpp"

#include <utility>

#include "lib/number.hpp"

namespace sluice::kube {

std::string in_url(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

std::string ServerUrl::to_string() const {
  return std::string(tls ? "https://" : "http://") + in_url(host) + ":" + std::to_string(port) + base_path;
}

lib::Result<HostPort> parse_authority(std::string_view authority, std::uint16_t port) {
  HostPort out;
  out.port = port;
  std::string_view digits;
  bool with_port = false;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return lib::invalid("a bracket is not closed");
    out.host = authority.substr(1, close - 1);
    const std::string_view behind = authority.substr(close + 1);
    if (!behind.empty() && behind.front() != ':') return lib::invalid("there is text behind the bracket");
    with_port = !behind.empty();
    if (with_port) digits = behind.substr(1);
  } else if (const auto colon = authority.rfind(':'); colon != std::string_view::npos) {
    out.host = authority.substr(0, colon);
    digits = authority.substr(colon + 1);
    with_port = true;
    if (out.host.find(':') != std::string::npos) return lib::invalid("an IPv6 address needs brackets");
  } else {
    out.host = authority;
  }
  constexpr std::string_view kHost = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
  if (out.host.empty()) return lib::invalid("the host is missing");
  if (out.host.find_first_not_of(kHost) != std::string::npos) {
    return lib::invalid("the host has characters no host has");
  }
  if (!with_port) return out;
  if (digits.empty()) return lib::invalid("the port is missing");
  const auto number = lib::parse_number<std::uint16_t>(digits, 1);
  if (!number) return lib::invalid("the port is not a number from 1 to 65535");
  out.port = *number;
  return out;
}

lib::Result<ServerUrl> parse_server_url(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return lib::invalid("\"" + text + "\" is not the address of a server: " + why + "; write it as https://host:port");
  };
  ServerUrl out;
  std::string_view rest = text;
  std::string_view scheme = "http";
  if (const auto scheme_end = rest.find("://"); scheme_end != std::string_view::npos) {
    scheme = rest.substr(0, scheme_end);
    rest.remove_prefix(scheme_end + 3);
  }
  const auto path_begin = rest.find('/');
  const std::string_view authority = rest.substr(0, path_begin);
  // Checked before any error that quotes the text. A password may contain a slash.
  if (rest.find('@') != std::string_view::npos) {
    return lib::invalid("the address of the server holds credentials; put them into the user's entry");
  }
  if (scheme != "https" && scheme != "http") return wrong("the scheme is neither https nor http");
  out.tls = scheme == "https";
  if (path_begin != std::string_view::npos) {
    std::string_view path = rest.substr(path_begin);
    while (path.ends_with('/')) path.remove_suffix(1);
    out.base_path = path;
  }
  if (rest.find_first_of("?#") != std::string_view::npos) return wrong("it has a query");
  auto place = parse_authority(authority, out.tls ? 443 : 80);
  if (!place) return wrong(place.status().message());
  out.host = std::move(place->host);
  out.port = place->port;
  return out;
}

}  // namespace sluice::kube

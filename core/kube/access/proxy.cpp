// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/kube/access/proxy.hpp"

#include <string_view>
#include <utility>

#include "lib/ip.hpp"
#include "lib/text.hpp"

namespace sluice::kube {
namespace {

constexpr const char* kForm = "write it as http://host:port";

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  const auto address = lib::IpAddress::parse(host);
  return address && address->is_loopback();
}

// Splits "host:port" of a NO_PROXY entry; without a port the whole entry is the host.
std::pair<std::string, std::string> split_entry(const std::string& entry) {
  if (entry.starts_with('[')) {
    const auto close = entry.find(']');
    if (close == std::string::npos) return {entry, ""};
    const bool with_port = close + 1 < entry.size() && entry[close + 1] == ':';
    return {entry.substr(1, close - 1), with_port ? entry.substr(close + 2) : ""};
  }
  const auto colon = entry.find(':');
  if (colon == std::string::npos || colon != entry.rfind(':')) return {entry, ""};
  return {entry.substr(0, colon), entry.substr(colon + 1)};
}

// Whether a NO_PROXY entry matches this server.
bool covers(const std::string& entry, const ServerUrl& server) {
  if (entry == "*") return true;
  const auto address = lib::IpAddress::parse(server.host);
  if (entry.find('/') != std::string::npos) {
    const auto network = lib::IpPrefix::parse(entry);
    if (network) return address && network->contains(*address);
  }
  auto [name, port] = split_entry(entry);
  if (name.empty() || (!port.empty() && port != std::to_string(server.port))) return false;
  if (const auto excepted = lib::IpAddress::parse(name)) return address && *address == *excepted;
  if (name.starts_with("*.")) name.erase(0, 1);
  const std::string host = lib::lower_case(server.host);
  // ".example" matches subdomains only, "example" also the domain itself.
  if (name.starts_with('.')) return host.ends_with(name);
  return host == name || host.ends_with("." + name);
}

bool excepted_by(std::string_view no_proxy, const ServerUrl& server) {
  while (!no_proxy.empty()) {
    const std::string entry = lib::lower_case(lib::trimmed(lib::take_part(no_proxy, ',')));
    if (!entry.empty() && covers(entry, server)) return true;
  }
  return false;
}

// The name of the variable in upper case if it is set, else in lower case.
std::string variable(std::string upper, const Environment& environment) {
  return environment(upper).empty() ? lib::lower_case(upper) : upper;
}

}  // namespace

std::string Proxy::to_string() const { return "http://" + in_url(host) + ":" + std::to_string(port); }

lib::Result<Proxy> parse_proxy_url(const std::string& text, const std::string& origin) {
  const auto wrong = [&](const std::string& why) {
    return lib::invalid(origin + ": this is not the URL of a proxy: " + why + "; " + kForm);
  };
  Proxy out;
  out.origin = origin;
  std::string_view rest = text;
  const auto scheme_end = rest.find("://");
  if (scheme_end == std::string_view::npos) return wrong("the scheme is missing");
  const std::string scheme = lib::lower_case(rest.substr(0, scheme_end));
  rest.remove_prefix(scheme_end + 3);
  if (scheme == "https" || scheme == "socks5" || scheme == "socks5h") {
    return lib::Status(lib::StatusCode::unsupported, origin + ": proxies of scheme " + scheme +
                                                           " are not supported, only http is; name an HTTP proxy");
  }
  if (scheme != "http") return wrong("the scheme is not http");

  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    const std::string_view user_info = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    const auto colon = user_info.find(':');
    const auto password = colon == std::string_view::npos ? std::string_view() : user_info.substr(colon + 1);
    if (!lib::decode_percent(user_info.substr(0, colon), out.username) ||
        !lib::decode_percent(password, out.password)) {
      return wrong("the user information has a % that begins no %XX");
    }
  }
  auto place = parse_authority(authority, 80);
  if (!place) return wrong(place.status().message());
  out.host = std::move(place->host);
  out.port = place->port;
  return out;
}

lib::Result<std::optional<Proxy>> proxy_from_environment(const ServerUrl& server, const Environment& environment) {
  const std::string name = variable(server.tls ? "HTTPS_PROXY" : "HTTP_PROXY", environment);
  std::string value = environment(name);
  if (value.empty() || is_loopback(server.host)) return std::optional<Proxy>();
  if (excepted_by(environment(variable("NO_PROXY", environment)), server)) return std::optional<Proxy>();
  if (value.find("://") == std::string::npos) value = "http://" + value;
  auto proxy = parse_proxy_url(value, "the environment variable " + name);
  if (!proxy) return proxy.status();
  return std::optional<Proxy>(std::move(*proxy));
}

}  // namespace sluice::kube

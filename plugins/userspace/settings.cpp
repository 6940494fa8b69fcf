// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/settings.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "lib/ip.hpp"
#include "lib/number.hpp"
#include "plugins/userspace/option_table.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/options.hpp"

namespace sluice::userspace {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// Rounded up, so that only zero gives 0.
milliseconds as_milliseconds(std::chrono::nanoseconds time) { return std::chrono::ceil<milliseconds>(time); }

// Empty: all addresses.
std::optional<abi::Address> listen_address(const sdk::Options& options, abi::Family of_backend) {
  const sdk::OptionValue& given = options.value("userspace.listenAddress");
  if (given.text.empty()) return std::nullopt;
  for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
    const auto address = sdk::parse_address(given.text, family);
    if (!address) continue;
    const auto parsed = lib::IpAddress::parse(given.text);  // an IPv4-mapped address is IPv4
    if (parsed && parsed->is_loopback()) options.reject(given, "is a loopback address");  // as in BEH 8.1
    return family == of_backend && !sdk::is_unspecified(*address) ? address : std::nullopt;
  }
  options.reject(given);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string_view::npos;
}

bool is_pattern(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || !is_name(text.substr(0, slash))) return false;
  const std::string_view service = text.substr(slash + 1);
  const auto colon = service.find(':');
  return service == "*" || (is_name(service.substr(0, colon)) &&
                            (colon == std::string_view::npos || is_name(service.substr(colon + 1))));
}

RelaySettings relay_settings(const sdk::Options& options) {
  RelaySettings out;
  out.threads = static_cast<unsigned>(options.integer("threads"));
  out.dial_timeouts.clear();
  for (const auto timeout : options.durations("dialTimeouts")) out.dial_timeouts.push_back(as_milliseconds(timeout));
  out.tcp_idle_timeout = as_milliseconds(options.duration("tcpIdleTimeout"));
  const auto keepalive = options.duration("tcpKeepalive");
  if (keepalive % 1s != 0ns) options.reject(options.value("tcpKeepalive"), "is not a whole number of seconds");
  out.tcp_keepalive = std::chrono::duration_cast<std::chrono::seconds>(keepalive);
  out.udp_timeout = as_milliseconds(options.duration("userspace.udpTimeout"));
  out.when_removed = options.word<WhenRemoved>("whenEndpointRemoved");
  out.drain = as_milliseconds(options.duration("drainTimeout"));
  out.stop_drain = as_milliseconds(options.duration("stopDrainTimeout"));
  out.max_connections = static_cast<std::size_t>(options.integer("maxConnections"));
  out.max_udp_clients = static_cast<std::size_t>(options.integer("maxUDPClients"));
  out.pipe_bytes = static_cast<std::size_t>(options.integer("pipeSize"));
  return out;
}

BalancerSettings balancer_settings(const sdk::Options& options) {
  BalancerSettings out;
  out.balance = options.word<Balance>("balance");
  out.max_affinity_clients = static_cast<std::size_t>(options.integer("maxAffinityClients"));
  OutlierSettings& outliers = out.outliers;
  outliers.failures = static_cast<unsigned>(options.integer("outlierFailures"));
  outliers.first_pause = as_milliseconds(options.duration("outlierFirstPause"));
  outliers.longest_pause = as_milliseconds(options.duration("outlierLongestPause"));
  if (outliers.first_pause > outliers.longest_pause) {
    const char* const key = options.has("outlierFirstPause") ? "outlierFirstPause" : "outlierLongestPause";
    throw sdk::Failure(abi::Code::kInvalid, key,
                       "'" + options.string(key) + "': the first pause of " +
                           std::to_string(outliers.first_pause.count()) + " ms is longer than the longest one of " +
                           std::to_string(outliers.longest_pause.count()) +
                           " ms; set outlierFirstPause to at most outlierLongestPause");
  }
  return out;
}

}  // namespace

Settings read_settings(const abi::ArrayView& given, abi::Family family) {
  const sdk::Options options(given, sdk::array(kOptions));
  Settings read;
  read.listen_address = listen_address(options, family);
  const sdk::OptionValue& ports = options.value("userspace.portRange");
  const auto range = lib::parse_port_range(ports.text);
  if (!range) options.reject(ports);
  read.proxy_ports = {range->first, range->second};
  read.relay = relay_settings(options);
  read.balancer = balancer_settings(options);
  for (const sdk::OptionValue& value : options.list("proxyProtocol")) {
    if (!is_pattern(value.text)) options.reject(value);
    read.proxy_protocol.push_back(value.text);
  }
  return read;
}

bool Settings::uses_proxy_protocol(std::string_view namespace_name, std::string_view service_name,
                                   std::string_view port_name) const {
  return std::any_of(proxy_protocol.begin(), proxy_protocol.end(), [&](std::string_view entry) {
    if (!entry.starts_with(namespace_name)) return false;
    entry.remove_prefix(namespace_name.size());
    if (!entry.starts_with('/')) return false;
    entry.remove_prefix(1);
    if (entry == "*") return true;
    const auto colon = entry.find(':');
    if (entry.substr(0, colon) != service_name) return false;
    return colon == std::string_view::npos || entry.substr(colon + 1) == port_name;
  });
}

}  // namespace sluice::userspace

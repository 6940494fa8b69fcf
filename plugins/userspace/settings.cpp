// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/settings.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

#include "lib/ip.hpp"
#include "lib/number.hpp"
#include "plugins/common/settings/table.hpp"
#include "plugins/common/settings/values.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t kMany = 10'000'000;
constexpr std::string_view kDialTimeouts = "dialTimeouts";

using settings::kNotAllowed;
using settings::kTaken;
using settings::parse_duration;
using settings::word;

struct Context {
  Settings& settings;
  abi::Family family;
};
using Row = settings::Row<Context>;

template <class T>
const char* count(std::string_view value, T& out, std::uint64_t least, std::uint64_t most) {
  const auto read = lib::parse_number<std::uint64_t>(value, least, most);
  if (!read) return kNotAllowed;
  out = static_cast<T>(*read);
  return kTaken;
}

const char* duration(std::string_view value, milliseconds& out, milliseconds least, milliseconds most) {
  const auto read = parse_duration(value);
  if (!read || *read < least || *read > most) return kNotAllowed;
  out = *read;
  return kTaken;
}

const char* listen_address(std::string_view value, Context& context) {
  context.settings.listen_address.reset();
  if (value.empty()) return kTaken;
  for (const abi::Family family : {abi::Family::kIpv4, abi::Family::kIpv6}) {
    const auto address = sdk::parse_address(std::string(value), family);
    if (!address) continue;
    const auto parsed = lib::IpAddress::parse(value);                         // an IPv4-mapped address is IPv4
    if (parsed && parsed->is_loopback()) return "cannot proxy on localhost";  // as in BEH 8.1
    if (family == context.family && !sdk::is_unspecified(*address)) context.settings.listen_address = address;
    return kTaken;
  }
  return kNotAllowed;
}

const char* port_range(std::string_view value, Context& context) {
  const auto range = lib::parse_port_range(value);
  if (!range) return kNotAllowed;
  context.settings.proxy_ports = {range->first, range->second};
  return kTaken;
}

const char* keepalive(std::string_view value, Context& context) {
  milliseconds time{};
  if (duration(value, time, 0ms, 9h) != kTaken || time % 1s != 0ms) return kNotAllowed;
  context.settings.relay.tcp_keepalive = std::chrono::duration_cast<std::chrono::seconds>(time);
  return kTaken;
}

const char* dial_timeout(std::string_view value, Context& context) {
  auto& ladder = context.settings.relay.dial_timeouts;
  if (ladder.size() == 16) return "the list has more than 16";
  return duration(value, ladder.emplace_back(), 1ms, 1min);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string_view::npos;
}

const char* proxy_protocol(std::string_view value, Context& context) {
  const auto slash = value.find('/');
  if (slash == std::string_view::npos || !is_name(value.substr(0, slash))) return kNotAllowed;
  const std::string_view service = value.substr(slash + 1);
  const auto colon = service.find(':');
  const bool right = service == "*" || (is_name(service.substr(0, colon)) &&
                                        (colon == std::string_view::npos || is_name(service.substr(colon + 1))));
  if (!right) return kNotAllowed;
  context.settings.proxy_protocol.emplace_back(value);
  return kTaken;
}

// Sorted by key. docs/reference/fields.md is generated from it.
// clang-format off
constexpr std::array kRows{
    Row{{"balance", false, "roundRobin", "roundRobin, leastConnections or powerOfTwoChoices",
         "Selection of the endpoint for a new connection: roundRobin, in turn from a shuffled list; "
         "leastConnections, the endpoint with the fewest open connections from this node; powerOfTwoChoices, the "
         "less loaded of two random endpoints."},
        [](std::string_view value, Context& to) {
          return word<Balance>(value, to.settings.balancer.balance,
                               {{"roundRobin", Balance::kRoundRobin},
                                {"leastConnections", Balance::kLeastConnections},
                                {"powerOfTwoChoices", Balance::kTwoChoices}});
        }},
    Row{{kDialTimeouts, true, "[250ms, 500ms, 1s, 2s]", "a list of 1 to 16 durations from 1ms to 1m",
         "Timeouts of the first, second and further attempts to connect to an endpoint."},
        dial_timeout},
    Row{{"drainTimeout", false, "30s", "a duration from 0s to 24h",
         "With whenEndpointRemoved: drain: maximum time for which established connections to a removed endpoint "
         "continue."},
        [](std::string_view value, Context& to) { return duration(value, to.settings.relay.drain, 0ms, 24h); }},
    Row{{"maxAffinityClients", false, "100000", "a number from 1 to 10000000",
         "Maximum number of clients with session affinity per list of endpoints; beyond it, the client not seen for "
         "longest is dropped. A client needs some 60 bytes."},
        [](std::string_view value, Context& to) {
          return count(value, to.settings.balancer.max_affinity_clients, 1, kMany);
        }},
    Row{{"maxConnections", false, "0", "0 (as many as file descriptors allow), or a number up to 10000000",
         "Maximum number of TCP connections of all Services; at the maximum, the proxy stops accepting. 0 means as "
         "many as file descriptors allow."},
        [](std::string_view value, Context& to) { return count(value, to.settings.relay.max_connections, 0, kMany); }},
    Row{{"maxUDPClients", false, "65536", "a number from 1 to 10000000",
         "Maximum number of UDP clients of all Services; beyond it, the client idle for longest is dropped."},
        [](std::string_view value, Context& to) { return count(value, to.settings.relay.max_udp_clients, 1, kMany); }},
    Row{{"outlierFailures", false, "3", "0 (never passed over), or a number up to 1000",
         "Number of consecutive failed dials after which new connections avoid an endpoint; 0 disables this."},
        [](std::string_view value, Context& to) {
          return count(value, to.settings.balancer.outliers.failures, 0, 1000);
        }},
    Row{{"outlierFirstPause", false, "1s", "a duration from 1ms to 24h, not longer than outlierLongestPause",
         "First time for which new connections avoid such an endpoint. Then one connection tries it: success ends "
         "the pause, failure doubles it. If every endpoint is avoided, all are used."},
        [](std::string_view value, Context& to) {
          return duration(value, to.settings.balancer.outliers.first_pause, 1ms, 24h);
        }},
    Row{{"outlierLongestPause", false, "1m", "a duration from 1ms to 24h, not shorter than outlierFirstPause",
         "Maximum of the doubled pause."},
        [](std::string_view value, Context& to) {
          return duration(value, to.settings.balancer.outliers.longest_pause, 1ms, 24h);
        }},
    Row{{"pipeSize", false, "1048576", "bytes, from 4096 to 16777216",
         "Maximum number of bytes in transit in one direction of one busy connection."},
        [](std::string_view value, Context& to) {
          return count(value, to.settings.relay.pipe_bytes, 4096, 16 << 20);
        }},
    Row{{"proxyProtocol", true, "[]", "a list of NAMESPACE/SERVICE, NAMESPACE/SERVICE:PORT or NAMESPACE/*",
         "Services whose endpoints receive the client address by PROXY protocol v2 (TCP only; the endpoints must "
         "expect it)."},
        proxy_protocol},
    Row{{"stopDrainTimeout", false, "30s", "a duration from 0s to 24h",
         "Maximum time for which established TCP connections continue after the daemon has been stopped, in a process "
         "of their own; 0s resets them. Has no effect under a service manager or in a container."},
        [](std::string_view value, Context& to) { return duration(value, to.settings.relay.stop_drain, 0ms, 24h); }},
    Row{{"tcpIdleTimeout", false, "0s", "0s (for ever), or a duration up to 720h",
         "Timeout after which a TCP connection without traffic in either direction is closed; 0s disables it."},
        [](std::string_view value, Context& to) {
          return duration(value, to.settings.relay.tcp_idle_timeout, 0ms, 720h);
        }},
    Row{{"tcpKeepalive", false, "15s", "0s (off), or whole seconds up to 9h",
         "Idle time before TCP keepalive probes, and interval between them, in whole seconds; 0s disables them."},
        keepalive},
    Row{{"threads", false, "0", "0 (one for each processor), or a number up to 256",
         "Number of relay threads; 0 means one for each processor that the daemon may use."},
        [](std::string_view value, Context& to) { return count(value, to.settings.relay.threads, 0, 256); }},
    Row{{"userspace.listenAddress", false, "0.0.0.0", "an address of this node, or 0.0.0.0 or :: (--bind-address)",
         "Address at which the proxy listens (--bind-address, bindAddress). An address of the other family, 0.0.0.0 "
         "and :: mean all addresses. Loopback addresses are rejected."},
        listen_address},
    Row{{"userspace.portRange", false, "", "nothing, or such as 30000-32767 or 30000+500 (--proxy-port-range)",
         "Ports that the proxy may open (--proxy-port-range, portRange); empty, or a first port of 0, lets the "
         "kernel choose."},
        port_range},
    Row{{"userspace.udpTimeout", false, "30s", "a duration above 0s (--udp-timeout)",
         "Timeout of idle UDP flows (--udp-timeout, udpTimeout)."},
        [](std::string_view value, Context& to) {
          return duration(value, to.settings.relay.udp_timeout, 1ms, milliseconds::max());
        }},
    Row{{"whenEndpointRemoved", false, "keep", "keep, drain or reset",
         "Handling of established TCP connections whose endpoint or Service is removed: keep them until they end, "
         "drain them (reset after drainTimeout), or reset them at once. New connections use another endpoint at once."},
        [](std::string_view value, Context& to) {
          return word<WhenRemoved>(value, to.settings.relay.when_removed,
                                   {{"keep", WhenRemoved::kKeep},
                                    {"drain", WhenRemoved::kDrain},
                                    {"reset", WhenRemoved::kReset}});
        }},
};
// clang-format on

}  // namespace

std::vector<SettingKey> setting_keys() { return settings::keys_of(kRows); }

Settings read_settings(const sdk::Options& options, abi::Family family) {
  Settings read;
  Context context{read, family};
  // A list that is given replaces the default.
  const auto& given = options.all();
  if (std::any_of(given.begin(), given.end(),
                  [](const auto& one) { return settings::name_of(one.first) == kDialTimeouts; })) {
    read.relay.dial_timeouts.clear();
  }
  settings::read(options, kRows, "userspace", context);
  const OutlierSettings& outliers = read.balancer.outliers;
  if (outliers.first_pause > outliers.longest_pause) {
    const char* const key = options.has("outlierFirstPause") ? "outlierFirstPause" : "outlierLongestPause";
    settings::refuse(key, "'" + options.get(key) + "': the first pause of " +
                              std::to_string(outliers.first_pause.count()) + " ms is longer than the longest one of " +
                              std::to_string(outliers.longest_pause.count()) +
                              " ms; set outlierFirstPause to at most outlierLongestPause");
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

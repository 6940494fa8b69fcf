// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The backend's own settings, read once from the flattened options. Values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/abi/types.hpp"

namespace sluice::userspace {

// How the endpoint of the next connection is chosen.
enum class Balance {
  kRoundRobin,        // in turn, from a shuffled list
  kLeastConnections,  // the endpoint with the fewest open connections
  kTwoChoices,        // the less loaded of two taken at random
};

// What happens to established TCP connections whose endpoint or Service is removed.
enum class WhenRemoved {
  kKeep,   // they continue until one side closes
  kDrain,  // they are reset after `drain`
  kReset,  // they are reset at once
};

struct PortRange {
  std::uint16_t low = 0;
  std::uint16_t high = 0;  // inclusive; 0: the kernel chooses
  bool any() const noexcept { return high == 0; }
  bool operator==(const PortRange&) const = default;
};

struct OutlierSettings {
  unsigned failures = 3;  // consecutive failed dials after which an endpoint is passed over; 0: never
  std::chrono::milliseconds first_pause{1000};
  std::chrono::milliseconds longest_pause{60000};  // doubles each time up to this
  bool operator==(const OutlierSettings&) const = default;
};

// Settings of the relay threads. Both families share the threads if these are equal.
struct RelaySettings {
  unsigned threads = 0;  // 0: one for each processor this process may use
  std::vector<std::chrono::milliseconds> dial_timeouts{std::chrono::milliseconds(250), std::chrono::milliseconds(500),
                                                       std::chrono::milliseconds(1000),
                                                       std::chrono::milliseconds(2000)};  // BEH 8.4: the ladder
  std::chrono::milliseconds tcp_idle_timeout{0};                                          // 0: none
  std::chrono::seconds tcp_keepalive{15};      // idle time before the first probe, and between probes; 0: off
  std::chrono::milliseconds udp_timeout{30000};  // as nf_conntrack_udp_timeout; 250 ms in BEH 8.5
  WhenRemoved when_removed = WhenRemoved::kKeep;
  std::chrono::milliseconds drain{30000};
  std::chrono::milliseconds stop_drain{30'000};  // at the end of the daemon; 0: connections are reset
  std::size_t max_connections = 0;      // TCP, all Services together; 0: as many as descriptors allow
  std::size_t max_udp_clients = 65536;  // all Services together; the client that is idle longest is evicted first
  std::size_t pipe_bytes = 1 << 20;     // of one direction of one connection, while it is busy
  bool operator==(const RelaySettings&) const = default;
};

struct BalancerSettings {
  Balance balance = Balance::kRoundRobin;
  OutlierSettings outliers;
  std::size_t max_affinity_clients = 100000;  // per list of endpoints; the least recently used client is evicted first
  bool operator==(const BalancerSettings&) const = default;
};

struct Settings {
  std::optional<abi::Address> listen_address;  // empty: all addresses
  PortRange proxy_ports;
  RelaySettings relay;
  BalancerSettings balancer;
  // "namespace/name", "namespace/name:port" or "namespace/*": their endpoints receive the client's address in a PROXY
  // protocol v2 header. TCP only.
  std::vector<std::string> proxy_protocol;

  bool uses_proxy_protocol(std::string_view namespace_name, std::string_view service_name,
                           std::string_view port_name) const;
};

// `given`: CreateArgs::options. Throws sdk::Failure (kInvalid) whose object is the key, if it is unknown, malformed or out
// of range.
Settings read_settings(const abi::ArrayView& given, abi::Family family);

}  // namespace sluice::userspace

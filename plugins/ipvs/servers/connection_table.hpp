// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The connections of IPVS, as /proc/net/ip_vs_conn lists them; netlink reports only their number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/ipvs/servers/server_kernel.hpp"

namespace sluice::ipvs {

struct ServerConnection {
  ServerKey server;
  abi::Address client{};
  std::uint16_t client_port = 0;  // 0: a persistence template, for all ports of the client
  RealServer real;
  std::string state;              // "ESTABLISHED"; cut to eleven characters by the kernel
  std::uint32_t expires = 0;      // seconds without another packet
  bool is_template() const noexcept { return client_port == 0; }
};

// Parses one line; empty for the heading and for the other family.
std::optional<ServerConnection> parse_connection(std::string_view line, abi::Family family);

// Whether a removal of the virtual server would break this connection. Connections that both sides closed or one side
// reset are over. IPVS counts half-closed ones as inactive, but data may still flow. SYN_SENT means replies of a
// connection that bypasses IPVS: for its own connections IPVS sees the client's SYN first, which is SYN_RECV
// (tcp_states in net/netfilter/ipvs/ip_vs_proto_tcp.c). A UDP flow is over after a quiet period.
bool is_alive(const ServerConnection& connection, const IpvsTimeouts& timeouts);

// Stops when the visitor or `more` returns false; `more` is called for each line and returns false when the time is
// up. The kernel pages its list by counting from the first connection of all families and virtual servers, so
// concurrent ends hide other connections and concurrent starts repeat some. Returns false if the list is incomplete.
using ConnectionVisitor = std::function<bool(const ServerConnection&)>;
using MoreTime = std::function<bool()>;
using VisitConnections = std::function<bool(const ConnectionVisitor&, const MoreTime& more)>;
bool visit_connections(const std::string& path, abi::Family family, const ConnectionVisitor& visitor,
                       const MoreTime& more);

}  // namespace sluice::ipvs

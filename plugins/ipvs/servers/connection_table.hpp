// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The connections of IPVS one by one, as /proc/net/ip_vs_conn shows them; netlink tells only how many there are.
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
  std::uint16_t client_port = 0;  // 0: a persistence template, which binds all ports of the client
  RealServer real;
  std::string state;              // "ESTABLISHED"; cut to eleven characters by the kernel
  std::uint32_t expires = 0;      // seconds, when nothing more is heard
  bool is_template() const noexcept { return client_port == 0; }
};

// One line; nothing for the heading and for connections of the other family.
std::optional<ServerConnection> parse_connection(std::string_view line, abi::Family family);

// Whether anybody would miss its virtual server: not those that both sides have ended, or one has broken off. Half-closed
// ones IPVS counts as inactive, and data may still flow. In SYN_SENT is only what answers of another connection pass by: of its own IPVS
// sees the client's SYN first, which is SYN_RECV (tcp_states in net/netfilter/ipvs/ip_vs_proto_tcp.c). Of UDP nobody says when it ends: it has when it was quiet.
bool is_alive(const ServerConnection& connection, const IpvsTimeouts& timeouts);

// As the kernel writes protocols: TCP, UDP or SCTP.
std::optional<abi::Protocol> parse_protocol(std::string_view text);

// False from the visitor ends it, and so does false from `more`, which is asked at every line: whether there is time to go
// on. The kernel finds each page of its answer by counting from the first connection, those of both families and of
// everybody's virtual servers: where some end meanwhile, others are left out, and where some begin, others come twice.
// False: not everything was seen.
using ConnectionVisitor = std::function<bool(const ServerConnection&)>;
using MoreTime = std::function<bool()>;
using VisitConnections = std::function<bool(const ConnectionVisitor&, const MoreTime& more)>;
bool visit_connections(const std::string& path, abi::Family family, const ConnectionVisitor& visitor,
                       const MoreTime& more);

}  // namespace sluice::ipvs

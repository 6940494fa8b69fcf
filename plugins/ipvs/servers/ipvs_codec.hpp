// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Virtual and real servers as attributes of <linux/ip_vs.h>. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/netlink/message.hpp"
#include "plugins/ipvs/servers/server_kernel.hpp"

struct nlmsghdr;

namespace sluice::ipvs {

// `id`: the generic netlink family number. Throw std::bad_alloc.
lib::netlink::Message ask_for_servers(std::uint16_t id);
lib::netlink::Message ask_for_real_servers(std::uint16_t id, const ServerKey& key, abi::Family family);
lib::netlink::Message ask_for_timeouts(std::uint16_t id);
lib::netlink::Message encode(std::uint16_t id, const ServerCommand& command, abi::Family family);
lib::netlink::Message encode(std::uint16_t id, const IpvsTimeouts& timeouts);

// Empty unless it is a virtual server of this family with address and port (not by firewall mark).
std::optional<VirtualServerState> decode_server(nlmsghdr* message, abi::Family family);
// Empty for another message.
std::optional<IpvsTimeouts> decode_timeouts(nlmsghdr* message);
// Empty for another address family (of a tunnel).
std::optional<RealServerState> decode_real_server(nlmsghdr* message, abi::Family family);

}  // namespace sluice::ipvs

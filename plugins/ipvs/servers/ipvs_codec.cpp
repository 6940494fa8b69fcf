// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/servers/ipvs_codec.hpp"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace sluice::ipvs {
namespace {

using lib::netlink::integer_attribute;
using lib::netlink::must;

// Both families: the kernel's union nf_inet_addr.
constexpr int kAddressBytes = 16;
static_assert(sizeof(abi::Address) == kAddressBytes);

// Copies only the bytes of the family; the rest may be garbage.
abi::Address address_of(const nlattr* attribute, abi::Family family) {
  abi::Address address{};
  const std::size_t size = std::min<std::size_t>(sdk::address_bytes(family), static_cast<std::size_t>(nla_len(attribute)));
  std::memcpy(address.bytes, nla_data(attribute), size);
  return address;
}

std::uint16_t port_of(const nlattr* attribute) {
  return ntohs(static_cast<std::uint16_t>(integer_attribute(attribute)));
}

void put_key(nl_msg* message, const ServerKey& key, abi::Family family) {
  must(nla_put_u16(message, IPVS_SVC_ATTR_AF, static_cast<std::uint16_t>(sdk::socket_family(family))));
  must(nla_put_u16(message, IPVS_SVC_ATTR_PROTOCOL, static_cast<std::uint16_t>(key.protocol)));
  must(nla_put(message, IPVS_SVC_ATTR_ADDR, kAddressBytes, key.address.bytes));
  must(nla_put_u16(message, IPVS_SVC_ATTR_PORT, htons(key.port)));
}

void put_attributes(nl_msg* message, const VirtualServer& server, abi::Family family) {
  const ip_vs_flags flags{server.flags, ~std::uint32_t{0}};
  // A single host: in IPv4 a mask in network order, in IPv6 a prefix length.
  const std::uint32_t mask = family == abi::Family::kIpv6 ? 128 : 0xFFFFFFFF;
  must(nla_put_string(message, IPVS_SVC_ATTR_SCHED_NAME, server.scheduler.c_str()));
  must(nla_put(message, IPVS_SVC_ATTR_FLAGS, sizeof(flags), &flags));
  must(nla_put_u32(message, IPVS_SVC_ATTR_TIMEOUT, server.persistence_seconds));
  must(nla_put_u32(message, IPVS_SVC_ATTR_NETMASK, mask));
}

void put_real(nl_msg* message, const ServerCommand& command, abi::Family family) {
  nlattr* const nested = must(nla_nest_start(message, IPVS_CMD_ATTR_DEST));
  must(nla_put(message, IPVS_DEST_ATTR_ADDR, kAddressBytes, command.real.address.bytes));
  must(nla_put_u16(message, IPVS_DEST_ATTR_PORT, htons(command.real.port)));
  // Unknown before Linux 3.18, and ignored there.
  must(nla_put_u16(message, IPVS_DEST_ATTR_ADDR_FAMILY, static_cast<std::uint16_t>(sdk::socket_family(family))));
  if (command.kind != ServerCommandKind::kDeleteReal) {
    must(nla_put_u32(message, IPVS_DEST_ATTR_FWD_METHOD, IP_VS_CONN_F_MASQ));
    must(nla_put_u32(message, IPVS_DEST_ATTR_WEIGHT, static_cast<std::uint32_t>(command.weight)));
    must(nla_put_u32(message, IPVS_DEST_ATTR_U_THRESH, 0));
    must(nla_put_u32(message, IPVS_DEST_ATTR_L_THRESH, 0));
  }
  nla_nest_end(message, nested);
}

std::uint8_t command_of(ServerCommandKind kind) {
  switch (kind) {
    case ServerCommandKind::kAddServer: return IPVS_CMD_NEW_SERVICE;
    case ServerCommandKind::kEditServer: return IPVS_CMD_SET_SERVICE;
    case ServerCommandKind::kDeleteServer: return IPVS_CMD_DEL_SERVICE;
    case ServerCommandKind::kAddReal: return IPVS_CMD_NEW_DEST;
    case ServerCommandKind::kEditReal: return IPVS_CMD_SET_DEST;
    case ServerCommandKind::kDeleteReal: return IPVS_CMD_DEL_DEST;
  }
  return IPVS_CMD_UNSPEC;
}

bool is_about_real(ServerCommandKind kind) {
  return kind == ServerCommandKind::kAddReal || kind == ServerCommandKind::kEditReal ||
         kind == ServerCommandKind::kDeleteReal;
}

// Parses the attributes nested in `outer` of an answer to `command`. False: another message.
template <std::size_t N>
bool parse(nlmsghdr* message, std::uint8_t command, int outer, std::array<nlattr*, N>& attributes) {
  attributes.fill(nullptr);
  if (message->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN)) return false;
  if (static_cast<const genlmsghdr*>(nlmsg_data(message))->cmd != command) return false;
  nlattr* const nested = nlmsg_find_attr(message, GENL_HDRLEN, outer);
  return nested != nullptr && nla_parse_nested(attributes.data(), static_cast<int>(N) - 1, nested, nullptr) == 0;
}

// Kernel counters are signed and may be negative for a short time, which means none.
std::uint64_t counter(const nlattr* attribute) {
  const std::uint64_t value = integer_attribute(attribute);
  return value > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()) ? 0 : value;
}

// `wide` since Linux 4.1; in `narrow`, connections and packets have 32 bits.
IpvsCounters counters_of(const nlattr* wide, const nlattr* narrow) {
  const nlattr* const nest = wide != nullptr ? wide : narrow;
  const auto value = [nest](int type) { return integer_attribute(lib::netlink::nested_attribute(nest, type)); };
  return {nest != nullptr,
          value(IPVS_STATS_ATTR_CONNS),
          value(IPVS_STATS_ATTR_INPKTS),
          value(IPVS_STATS_ATTR_INBYTES),
          value(IPVS_STATS_ATTR_OUTPKTS),
          value(IPVS_STATS_ATTR_OUTBYTES)};
}

}  // namespace

lib::netlink::Message ask_for_servers(std::uint16_t id) {
  return lib::netlink::make_generic(id, IPVS_CMD_GET_SERVICE, IPVS_GENL_VERSION);
}

lib::netlink::Message ask_for_real_servers(std::uint16_t id, const ServerKey& key, abi::Family family) {
  lib::netlink::Message message = lib::netlink::make_generic(id, IPVS_CMD_GET_DEST, IPVS_GENL_VERSION);
  nlattr* const nested = must(nla_nest_start(message.get(), IPVS_CMD_ATTR_SERVICE));
  put_key(message.get(), key, family);
  nla_nest_end(message.get(), nested);
  return message;
}

lib::netlink::Message ask_for_timeouts(std::uint16_t id) {
  return lib::netlink::make_generic(id, IPVS_CMD_GET_CONFIG, IPVS_GENL_VERSION);
}

lib::netlink::Message encode(std::uint16_t id, const ServerCommand& command, abi::Family family) {
  lib::netlink::Message message = lib::netlink::make_generic(id, command_of(command.kind), IPVS_GENL_VERSION);
  nlattr* const nested = must(nla_nest_start(message.get(), IPVS_CMD_ATTR_SERVICE));
  put_key(message.get(), command.server.key, family);
  if (command.kind == ServerCommandKind::kAddServer || command.kind == ServerCommandKind::kEditServer) {
    put_attributes(message.get(), command.server, family);
  }
  nla_nest_end(message.get(), nested);
  if (is_about_real(command.kind)) put_real(message.get(), command, family);
  return message;
}

lib::netlink::Message encode(std::uint16_t id, const IpvsTimeouts& timeouts) {
  lib::netlink::Message message = lib::netlink::make_generic(id, IPVS_CMD_SET_CONFIG, IPVS_GENL_VERSION);
  // The kernel keeps its value for zero.
  must(nla_put_u32(message.get(), IPVS_CMD_ATTR_TIMEOUT_TCP, timeouts.tcp));
  must(nla_put_u32(message.get(), IPVS_CMD_ATTR_TIMEOUT_TCP_FIN, timeouts.tcp_fin));
  must(nla_put_u32(message.get(), IPVS_CMD_ATTR_TIMEOUT_UDP, timeouts.udp));
  return message;
}

std::optional<VirtualServerState> decode_server(nlmsghdr* message, abi::Family family) {
  std::array<nlattr*, IPVS_SVC_ATTR_MAX + 1> found;
  if (!parse(message, IPVS_CMD_NEW_SERVICE, IPVS_CMD_ATTR_SERVICE, found)) return std::nullopt;
  if (integer_attribute(found[IPVS_SVC_ATTR_AF]) != static_cast<std::uint64_t>(sdk::socket_family(family))) {
    return std::nullopt;
  }
  if (found[IPVS_SVC_ATTR_ADDR] == nullptr || found[IPVS_SVC_ATTR_PORT] == nullptr) return std::nullopt;
  VirtualServerState server;
  server.key.address = address_of(found[IPVS_SVC_ATTR_ADDR], family);
  server.key.port = port_of(found[IPVS_SVC_ATTR_PORT]);
  server.key.protocol = static_cast<abi::Protocol>(integer_attribute(found[IPVS_SVC_ATTR_PROTOCOL]));
  if (const nlattr* const name = found[IPVS_SVC_ATTR_SCHED_NAME]) {
    server.scheduler = lib::netlink::string_attribute(name);
  }
  ip_vs_flags flags{};
  if (const nlattr* const attribute = found[IPVS_SVC_ATTR_FLAGS]) {
    std::memcpy(&flags, nla_data(attribute),
                std::min(sizeof(flags), static_cast<std::size_t>(nla_len(attribute))));
  }
  server.flags = flags.flags & ~std::uint32_t{IP_VS_SVC_F_HASHED};
  // Only persistent ones use the timeout; elsewhere a leftover value is not a difference.
  if ((server.flags & kPersistent) != 0) {
    server.persistence_seconds = static_cast<std::uint32_t>(integer_attribute(found[IPVS_SVC_ATTR_TIMEOUT]));
  }
  server.counters = counters_of(found[IPVS_SVC_ATTR_STATS64], found[IPVS_SVC_ATTR_STATS]);
  return server;
}

std::optional<IpvsTimeouts> decode_timeouts(nlmsghdr* message) {
  if (message->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN)) return std::nullopt;
  if (static_cast<const genlmsghdr*>(nlmsg_data(message))->cmd != IPVS_CMD_SET_CONFIG) return std::nullopt;
  const auto seconds = [&](int attribute) {
    const nlattr* const found = nlmsg_find_attr(message, GENL_HDRLEN, attribute);
    return found == nullptr ? 0 : static_cast<std::uint32_t>(integer_attribute(found));
  };
  return IpvsTimeouts{seconds(IPVS_CMD_ATTR_TIMEOUT_TCP), seconds(IPVS_CMD_ATTR_TIMEOUT_TCP_FIN),
                      seconds(IPVS_CMD_ATTR_TIMEOUT_UDP)};
}

std::optional<RealServerState> decode_real_server(nlmsghdr* message, abi::Family family) {
  std::array<nlattr*, IPVS_DEST_ATTR_MAX + 1> found;
  if (!parse(message, IPVS_CMD_NEW_DEST, IPVS_CMD_ATTR_DEST, found)) return std::nullopt;
  if (found[IPVS_DEST_ATTR_ADDR] == nullptr || found[IPVS_DEST_ATTR_PORT] == nullptr) return std::nullopt;
  const nlattr* const af = found[IPVS_DEST_ATTR_ADDR_FAMILY];
  if (af != nullptr && integer_attribute(af) != static_cast<std::uint64_t>(sdk::socket_family(family))) {
    return std::nullopt;
  }
  RealServerState state;
  state.server.address = address_of(found[IPVS_DEST_ATTR_ADDR], family);
  state.server.port = port_of(found[IPVS_DEST_ATTR_PORT]);
  state.weight = static_cast<std::int32_t>(integer_attribute(found[IPVS_DEST_ATTR_WEIGHT]));
  state.masquerades =
      (integer_attribute(found[IPVS_DEST_ATTR_FWD_METHOD]) & IP_VS_CONN_F_FWD_MASK) == IP_VS_CONN_F_MASQ;
  state.active = counter(found[IPVS_DEST_ATTR_ACTIVE_CONNS]);
  state.connections = state.active + counter(found[IPVS_DEST_ATTR_INACT_CONNS]);
  state.counters = counters_of(found[IPVS_DEST_ATTR_STATS64], found[IPVS_DEST_ATTR_STATS]);
  return state;
}

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conntrack/message.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <array>
#include <cstdint>

namespace sluice::conntrack {
namespace {

// The parts of a tuple that a filter compares. No public kernel header defines them
// (net/netfilter/nf_conntrack_netlink.c).
constexpr std::uint32_t kFilterSource = 1u << 0;
constexpr std::uint32_t kFilterDestination = 1u << 1;
constexpr std::uint32_t kFilterProtocol = 1u << 3;
constexpr std::uint32_t kFilterSourcePort = 1u << 4;
constexpr std::uint32_t kFilterDestinationPort = 1u << 5;

struct TupleAttributes {
  std::uint16_t source;
  std::uint16_t destination;
};
constexpr TupleAttributes address_attributes(lib::Family family) {
  return family == lib::Family::ipv4 ? TupleAttributes{CTA_IP_V4_SRC, CTA_IP_V4_DST}
                                      : TupleAttributes{CTA_IP_V6_SRC, CTA_IP_V6_DST};
}

void put_address(nlmsghdr* message, std::uint16_t type, const lib::IpAddress& address) {
  mnl_attr_put(message, type, address.family() == lib::Family::ipv4 ? 4 : 16, address.bytes().data());
}

nlmsghdr* put_header(void* buffer, std::uint16_t type, lib::Family family) {
  nlmsghdr* message = mnl_nlmsg_put_header(buffer);
  message->nlmsg_type = static_cast<std::uint16_t>((NFNL_SUBSYS_CTNETLINK << 8) | type);
  auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
  header->nfgen_family = family == lib::Family::ipv4 ? AF_INET : AF_INET6;
  header->version = NFNETLINK_V0;
  header->res_id = 0;
  return message;
}

// Reading. libmnl's own loop over attributes is a macro for C only.
using Attributes = std::array<const nlattr*, CTA_MAX + 1>;

Attributes attributes(const nlattr* first, const void* end) {
  Attributes out{};
  for (const nlattr* at = first;
       mnl_attr_ok(at, static_cast<int>(static_cast<const char*>(end) - reinterpret_cast<const char*>(at)));
       at = mnl_attr_next(at)) {
    if (const std::uint16_t type = mnl_attr_get_type(at); type < out.size()) out[type] = at;
  }
  return out;
}

Attributes nested(const nlattr* parent) {
  const auto* payload = static_cast<const nlattr*>(mnl_attr_get_payload(parent));
  return attributes(payload, reinterpret_cast<const char*>(payload) + mnl_attr_get_payload_len(parent));
}

bool read_address(const nlattr* attribute, lib::Family family, lib::IpAddress& out) {
  const std::size_t length = family == lib::Family::ipv4 ? 4 : 16;
  if (attribute == nullptr || mnl_attr_get_payload_len(attribute) != length) return false;
  out = lib::IpAddress::from_bytes(family, mnl_attr_get_payload(attribute));
  return true;
}

bool read_port(const nlattr* attribute, std::uint16_t& out) {
  if (attribute == nullptr || mnl_attr_get_payload_len(attribute) != sizeof out) return false;
  out = ntohs(mnl_attr_get_u16(attribute));
  return true;
}

// 0 if it is missing.
std::uint32_t read_u32(const nlattr* attribute) {
  if (attribute == nullptr || mnl_attr_get_payload_len(attribute) != sizeof(std::uint32_t)) return 0;
  return ntohl(mnl_attr_get_u32(attribute));
}

// The kernel counts packets if net.netfilter.nf_conntrack_acct is set.
std::uint64_t read_packets(const nlattr* counters) {
  if (counters == nullptr) return 0;
  const nlattr* const packets = nested(counters)[CTA_COUNTERS_PACKETS];
  if (packets == nullptr || mnl_attr_get_payload_len(packets) != sizeof(std::uint64_t)) return 0;
  return be64toh(mnl_attr_get_u64(packets));
}

bool in_another_zone(const nlattr* zone) {
  return zone != nullptr && mnl_attr_get_payload_len(zone) == sizeof(std::uint16_t) && mnl_attr_get_u16(zone) != 0;
}

bool read_tuple(const nlattr* attribute, lib::Family family, lib::SocketAddress& source,
                lib::SocketAddress& destination) {
  if (attribute == nullptr) return false;
  const Attributes tuple = nested(attribute);
  if (tuple[CTA_TUPLE_IP] == nullptr || tuple[CTA_TUPLE_PROTO] == nullptr || in_another_zone(tuple[CTA_TUPLE_ZONE])) {
    return false;
  }
  const Attributes proto = nested(tuple[CTA_TUPLE_PROTO]);
  if (proto[CTA_PROTO_NUM] == nullptr || mnl_attr_get_payload_len(proto[CTA_PROTO_NUM]) != 1 ||
      mnl_attr_get_u8(proto[CTA_PROTO_NUM]) != IPPROTO_UDP) {
    return false;
  }
  const Attributes ip = nested(tuple[CTA_TUPLE_IP]);
  const TupleAttributes types = address_attributes(family);
  return read_address(ip[types.source], family, source.address) &&
         read_address(ip[types.destination], family, destination.address) &&
         read_port(proto[CTA_PROTO_SRC_PORT], source.port) && read_port(proto[CTA_PROTO_DST_PORT], destination.port);
}

}  // namespace

nlmsghdr* put_conntrack_dump(void* buffer, lib::Family family, const FlowQuery& query, bool filtered) {
  nlmsghdr* message = put_header(buffer, IPCTNL_MSG_CT_GET, family);
  if (!filtered) {
    static_cast<nfgenmsg*>(mnl_nlmsg_get_payload(message))->nfgen_family = AF_UNSPEC;
    return message;
  }
  const TupleAttributes addresses = address_attributes(family);
  std::uint32_t original = kFilterProtocol;
  std::uint32_t reply = 0;

  nlattr* tuple = mnl_attr_nest_start(message, CTA_TUPLE_ORIG);
  if (query.destination) {
    original |= kFilterDestination;
    nlattr* ip = mnl_attr_nest_start(message, CTA_TUPLE_IP);
    put_address(message, addresses.destination, *query.destination);
    mnl_attr_nest_end(message, ip);
  }
  nlattr* proto = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
  mnl_attr_put_u8(message, CTA_PROTO_NUM, IPPROTO_UDP);
  if (query.destination_port != 0) {
    original |= kFilterDestinationPort;
    mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(query.destination_port));
  }
  mnl_attr_nest_end(message, proto);
  mnl_attr_nest_end(message, tuple);

  if (query.reply_source || query.reply_source_port != 0) {
    reply |= kFilterProtocol;
    tuple = mnl_attr_nest_start(message, CTA_TUPLE_REPLY);
    if (query.reply_source) {
      reply |= kFilterSource;
      nlattr* ip = mnl_attr_nest_start(message, CTA_TUPLE_IP);
      put_address(message, addresses.source, *query.reply_source);
      mnl_attr_nest_end(message, ip);
    }
    proto = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
    mnl_attr_put_u8(message, CTA_PROTO_NUM, IPPROTO_UDP);
    if (query.reply_source_port != 0) {
      reply |= kFilterSourcePort;
      mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(query.reply_source_port));
    }
    mnl_attr_nest_end(message, proto);
    mnl_attr_nest_end(message, tuple);
  }
  nlattr* filter = mnl_attr_nest_start(message, CTA_FILTER);
  mnl_attr_put_u32(message, CTA_FILTER_ORIG_FLAGS, original);
  mnl_attr_put_u32(message, CTA_FILTER_REPLY_FLAGS, reply);
  mnl_attr_nest_end(message, filter);
  return message;
}

nlmsghdr* put_conntrack_delete(void* buffer, lib::Family family, const Flow& flow) {
  nlmsghdr* message = put_header(buffer, IPCTNL_MSG_CT_DELETE, family);
  const TupleAttributes addresses = address_attributes(family);
  nlattr* tuple = mnl_attr_nest_start(message, CTA_TUPLE_ORIG);
  nlattr* ip = mnl_attr_nest_start(message, CTA_TUPLE_IP);
  put_address(message, addresses.source, flow.source.address);
  put_address(message, addresses.destination, flow.destination.address);
  mnl_attr_nest_end(message, ip);
  nlattr* proto = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
  mnl_attr_put_u8(message, CTA_PROTO_NUM, IPPROTO_UDP);
  mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(flow.source.port));
  mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(flow.destination.port));
  mnl_attr_nest_end(message, proto);
  mnl_attr_nest_end(message, tuple);
  mnl_attr_put_u32(message, CTA_ID, flow.id);
  return message;
}

std::optional<Flow> read_conntrack_entry(const nlmsghdr* message) {
  if (mnl_nlmsg_get_payload_len(message) < sizeof(nfgenmsg)) return std::nullopt;
  const auto* header = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(message));
  if (header->nfgen_family != AF_INET && header->nfgen_family != AF_INET6) return std::nullopt;
  const lib::Family family = header->nfgen_family == AF_INET ? lib::Family::ipv4 : lib::Family::ipv6;
  const Attributes entry =
      attributes(static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, sizeof(nfgenmsg))),
                 mnl_nlmsg_get_payload_tail(message));
  Flow flow;
  if (in_another_zone(entry[CTA_ZONE]) || !read_tuple(entry[CTA_TUPLE_ORIG], family, flow.source, flow.destination) ||
      !read_tuple(entry[CTA_TUPLE_REPLY], family, flow.reply_source, flow.reply_destination) ||
      entry[CTA_ID] == nullptr || mnl_attr_get_payload_len(entry[CTA_ID]) != sizeof flow.id) {
    return std::nullopt;
  }
  flow.id = mnl_attr_get_u32(entry[CTA_ID]);  // kept in network byte order for requests
  flow.redirected = (read_u32(entry[CTA_STATUS]) & IPS_DST_NAT) != 0;
  flow.remaining = read_u32(entry[CTA_TIMEOUT]);
  flow.replies = read_packets(entry[CTA_COUNTERS_REPLY]);
  flow.packets = read_packets(entry[CTA_COUNTERS_ORIG]) + flow.replies;
  return flow;
}

}  // namespace sluice::conntrack

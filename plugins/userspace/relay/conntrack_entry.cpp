// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/conntrack_entry.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

namespace sluice::userspace {
namespace {

using lib::netlink::Message;
using lib::netlink::must;
using lib::netlink::nested_attribute;

// A reply is there when the request has been sent, unless another program blocks conntrack.
constexpr std::chrono::milliseconds kTimeout{1000};

// TCP_CONNTRACK_* of the kernel; its header defines them in an unnamed enumeration.
constexpr std::uint8_t kNone = TCP_CONNTRACK_NONE;
constexpr std::uint8_t kTimeWait = TCP_CONNTRACK_TIME_WAIT;
constexpr std::uint8_t kClose = TCP_CONNTRACK_CLOSE;

constexpr std::uint16_t type_of(unsigned message) noexcept {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_CTNETLINK << 8) | message);
}

int family_of(const RelayFlow& flow) noexcept { return flow.destination.family(); }

Message begin(unsigned type, std::uint16_t flags, int family) {
  nfgenmsg header{};
  header.nfgen_family = static_cast<std::uint8_t>(family);
  header.version = NFNETLINK_V0;
  return lib::netlink::make_message(type_of(type), flags, header);
}

nlattr* open_nest(const Message& message, int type) { return must(nla_nest_start(message.get(), type | NLA_F_NESTED)); }

void close_nest(const Message& message, nlattr* nest) { must(nla_nest_end(message.get(), nest)); }

void put_address(const Message& message, int v4, int v6, const SocketAddress& address) {
  const abi::Address bytes = address.address();
  const bool is_v6 = address.family() == AF_INET6;
  must(nla_put(message.get(), is_v6 ? v6 : v4, is_v6 ? 16 : 4, bytes.bytes));
}

void put_port(const Message& message, int type, std::uint16_t port) {
  must(nla_put_u16(message.get(), type, htons(port)));
}

void put_tuple(const Message& message, int type, std::uint8_t protocol, const SocketAddress& from,
               const SocketAddress& to) {
  nlattr* const tuple = open_nest(message, type);
  nlattr* const addresses = open_nest(message, CTA_TUPLE_IP);
  put_address(message, CTA_IP_V4_SRC, CTA_IP_V6_SRC, from);
  put_address(message, CTA_IP_V4_DST, CTA_IP_V6_DST, to);
  close_nest(message, addresses);
  nlattr* const ports = open_nest(message, CTA_TUPLE_PROTO);
  must(nla_put_u8(message.get(), CTA_PROTO_NUM, protocol));
  put_port(message, CTA_PROTO_SRC_PORT, from.port());
  put_port(message, CTA_PROTO_DST_PORT, to.port());
  close_nest(message, ports);
  close_nest(message, tuple);
}

void put_shown_source(const Message& message, const ShownSource& shown_as) {
  nlattr* const nat = open_nest(message, CTA_NAT_SRC);
  put_address(message, CTA_NAT_V4_MINIP, CTA_NAT_V6_MINIP, shown_as.address);
  put_address(message, CTA_NAT_V4_MAXIP, CTA_NAT_V6_MAXIP, shown_as.address);
  nlattr* const ports = open_nest(message, CTA_NAT_PROTO);
  put_port(message, CTA_PROTONAT_PORT_MIN, shown_as.low);
  put_port(message, CTA_PROTONAT_PORT_MAX, shown_as.high);
  close_nest(message, ports);
  close_nest(message, nat);
}

void put_tcp_state(const Message& message) {
  nlattr* const info = open_nest(message, CTA_PROTOINFO);
  nlattr* const tcp = open_nest(message, CTA_PROTOINFO_TCP);
  must(nla_put_u8(message.get(), CTA_PROTOINFO_TCP_STATE, kNone));
  const nf_ct_tcp_flags liberal{IP_CT_TCP_FLAG_BE_LIBERAL, IP_CT_TCP_FLAG_BE_LIBERAL};
  must(nla_put(message.get(), CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, sizeof(liberal), &liberal));
  must(nla_put(message.get(), CTA_PROTOINFO_TCP_FLAGS_REPLY, sizeof(liberal), &liberal));
  close_nest(message, tcp);
  close_nest(message, info);
}

bool read_address(const nlattr* attribute, int family, abi::Address& out) noexcept {
  const int size = family == AF_INET6 ? 16 : 4;
  if (attribute == nullptr || nla_len(attribute) != size) return false;
  std::memcpy(out.bytes, nla_data(attribute), static_cast<std::size_t>(size));
  return true;
}

bool read_end(const nlattr* tuple, int family, int address_type, int port_type, SocketAddress& out) noexcept {
  abi::Address address{};
  const nlattr* const port = nested_attribute(nested_attribute(tuple, CTA_TUPLE_PROTO), port_type);
  if (!read_address(nested_attribute(nested_attribute(tuple, CTA_TUPLE_IP), address_type), family, address))
    return false;
  if (port == nullptr || nla_len(port) != sizeof(std::uint16_t)) return false;
  out = SocketAddress(family == AF_INET6 ? abi::Family::kIpv6 : abi::Family::kIpv4, address, ntohs(nla_get_u16(port)));
  return true;
}

bool read_tuple(const nlattr* tuple, int family, SocketAddress& from, SocketAddress& to) noexcept {
  const bool v6 = family == AF_INET6;
  return read_end(tuple, family, v6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, CTA_PROTO_SRC_PORT, from) &&
         read_end(tuple, family, v6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, CTA_PROTO_DST_PORT, to);
}

}  // namespace

bool ConntrackEntry::tcp_ended() const noexcept { return tcp_state == kTimeWait || tcp_state == kClose; }

ShownSource any_port_like(const SocketAddress& client) {
  const std::uint16_t port = client.port();
  if (port < 512) return {client, 1, 511};
  if (port < 1024) return {client, 600, 1023};
  return {client, 1024, 65535};
}

namespace conntrack_message {

Message create(const RelayFlow& flow, const ShownSource& shown_as, std::uint32_t seconds) {
  Message message = begin(IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL, family_of(flow));
  put_tuple(message, CTA_TUPLE_ORIG, flow.protocol, flow.source, flow.destination);
  // The kernel changes the reply tuple itself. With the changed one here, it would find nothing to translate.
  put_tuple(message, CTA_TUPLE_REPLY, flow.protocol, flow.destination, flow.source);
  put_shown_source(message, shown_as);
  must(nla_put_u32(message.get(), CTA_TIMEOUT, htonl(seconds)));
  if (flow.protocol == IPPROTO_TCP) put_tcp_state(message);
  return message;
}

Message remove(const RelayFlow& flow) {
  Message message = begin(IPCTNL_MSG_CT_DELETE, 0, family_of(flow));
  put_tuple(message, CTA_TUPLE_ORIG, flow.protocol, flow.source, flow.destination);
  return message;
}

Message find(const RelayFlow& flow) {
  Message message = begin(IPCTNL_MSG_CT_GET, 0, family_of(flow));
  put_tuple(message, CTA_TUPLE_ORIG, flow.protocol, flow.source, flow.destination);
  return message;
}

Message find_by_reply(const RelayFlow& flow) {
  Message message = begin(IPCTNL_MSG_CT_GET, 0, family_of(flow));
  put_tuple(message, CTA_TUPLE_REPLY, flow.protocol, flow.source, flow.destination);
  return message;
}

bool read(nlmsghdr* message, ConntrackEntry& out) noexcept {
  if (message->nlmsg_type != type_of(IPCTNL_MSG_CT_NEW) ||
      message->nlmsg_len < NLMSG_LENGTH(static_cast<int>(sizeof(nfgenmsg)))) {
    return false;
  }
  const int family = static_cast<const nfgenmsg*>(nlmsg_data(message))->nfgen_family;
  const auto attribute = [message](int type) { return nlmsg_find_attr(message, sizeof(nfgenmsg), type); };
  if (!read_tuple(attribute(CTA_TUPLE_ORIG), family, out.source, out.destination) ||
      !read_tuple(attribute(CTA_TUPLE_REPLY), family, out.reply_source, out.reply_destination)) {
    return false;
  }
  const nlattr* const tcp = nested_attribute(attribute(CTA_PROTOINFO), CTA_PROTOINFO_TCP);
  out.tcp_state =
      static_cast<std::uint8_t>(lib::netlink::integer_attribute(nested_attribute(tcp, CTA_PROTOINFO_TCP_STATE)));
  return true;
}

}  // namespace conntrack_message

Conntrack::Conntrack() : Conntrack([] { return lib::netlink::open_raw_socket(NETLINK_NETFILTER); }) {}

Conntrack::Conntrack(lib::netlink::OpenRawSocket open) : socket_(std::move(open), "conntrack", kTimeout) {}

template <class Make>
int Conntrack::request(Make make, ConntrackEntry* out) noexcept {
  try {
    const Message message = make();
    bool found = false;
    const auto result = socket_.request(lib::netlink::header_of(message), [&](nlmsghdr* reply) {
      found = found || (out != nullptr && conntrack_message::read(reply, *out));
    });
    if (!result) return result.status().os_errno() != 0 ? result.status().os_errno() : EIO;
    if (*result == 0 && out != nullptr && !found) return ENOENT;
    return *result;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int Conntrack::create(const RelayFlow& flow, const ShownSource& shown_as, std::uint32_t seconds) noexcept {
  return request([&] { return conntrack_message::create(flow, shown_as, seconds); });
}

int Conntrack::remove(const RelayFlow& flow) noexcept {
  return request([&] { return conntrack_message::remove(flow); });
}

int Conntrack::find(const RelayFlow& flow, ConntrackEntry& out) noexcept {
  return request([&] { return conntrack_message::find(flow); }, &out);
}

int Conntrack::find_by_reply(const RelayFlow& flow, ConntrackEntry& out) noexcept {
  return request([&] { return conntrack_message::find_by_reply(flow); }, &out);
}

}  // namespace sluice::userspace

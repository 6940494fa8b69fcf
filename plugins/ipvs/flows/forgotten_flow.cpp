// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/flows/forgotten_flow.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <array>
#include <cstring>

#include "sluice/sdk/address.hpp"

namespace sluice::ipvs {
namespace {

using lib::netlink::must;
template <std::size_t kMax>
using Attributes = std::array<nlattr*, kMax + 1>;

template <std::size_t kMax>
bool nested(nlattr* parent, Attributes<kMax>& into) {
  return parent != nullptr && nla_parse_nested(into.data(), kMax, parent, nullptr) == 0;
}

int address_size(abi::Family family) { return family == abi::Family::kIpv6 ? 16 : 4; }

bool read_address(nlattr* attribute, abi::Family family, abi::Address& out) {
  if (attribute == nullptr || nla_len(attribute) != address_size(family)) return false;
  std::memcpy(out.bytes, nla_data(attribute), static_cast<std::size_t>(address_size(family)));
  return true;
}

bool read_port(nlattr* attribute, std::uint16_t& out) {
  if (attribute == nullptr || nla_len(attribute) != sizeof(out)) return false;
  out = ntohs(nla_get_u16(attribute));
  return true;
}

std::uint32_t read_number(nlattr* attribute) {
  return attribute != nullptr && nla_len(attribute) == sizeof(std::uint32_t) ? ntohl(nla_get_u32(attribute)) : 0;
}

struct Tuple {
  RealServer source;
  RealServer destination;
  std::uint8_t protocol = 0;
};

bool read_tuple(nlattr* attribute, abi::Family family, Tuple& out) {
  Attributes<CTA_TUPLE_MAX> tuple{};
  Attributes<CTA_IP_MAX> ip{};
  Attributes<CTA_PROTO_MAX> proto{};
  // IPVS deletes entries of the default zone only, which has no attribute.
  if (!nested<CTA_TUPLE_MAX>(attribute, tuple) || tuple[CTA_TUPLE_ZONE] != nullptr ||
      !nested<CTA_IP_MAX>(tuple[CTA_TUPLE_IP], ip) || !nested<CTA_PROTO_MAX>(tuple[CTA_TUPLE_PROTO], proto) ||
      proto[CTA_PROTO_NUM] == nullptr || nla_len(proto[CTA_PROTO_NUM]) != 1) {
    return false;
  }
  out.protocol = nla_get_u8(proto[CTA_PROTO_NUM]);
  const bool v6 = family == abi::Family::kIpv6;
  return read_address(ip[v6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC], family, out.source.address) &&
         read_address(ip[v6 ? CTA_IP_V6_DST : CTA_IP_V4_DST], family, out.destination.address) &&
         read_port(proto[CTA_PROTO_SRC_PORT], out.source.port) && read_port(proto[CTA_PROTO_DST_PORT], out.destination.port);
}

// 0: ended, or not established yet.
std::uint8_t read_tcp_state(nlattr* attribute) {
  Attributes<CTA_PROTOINFO_MAX> info{};
  Attributes<CTA_PROTOINFO_TCP_MAX> tcp{};
  if (!nested<CTA_PROTOINFO_MAX>(attribute, info) || !nested<CTA_PROTOINFO_TCP_MAX>(info[CTA_PROTOINFO_TCP], tcp) ||
      tcp[CTA_PROTOINFO_TCP_STATE] == nullptr || nla_len(tcp[CTA_PROTOINFO_TCP_STATE]) != 1) {
    return 0;
  }
  const std::uint8_t state = nla_get_u8(tcp[CTA_PROTOINFO_TCP_STATE]);
  return state >= TCP_CONNTRACK_SYN_SENT && state <= TCP_CONNTRACK_LAST_ACK ? state : 0;
}

std::uint8_t number_of(abi::Protocol protocol) { return protocol == abi::Protocol::kTcp ? IPPROTO_TCP : IPPROTO_UDP; }

void put_address(nl_msg* message, int type, const abi::Address& address, abi::Family family) {
  must(nla_put(message, type, address_size(family), address.bytes));
}

void put_tuple(nl_msg* message, int type, const RealServer& source, const RealServer& destination, abi::Protocol protocol,
               abi::Family family) {
  const bool v6 = family == abi::Family::kIpv6;
  nlattr* const tuple = must(nla_nest_start(message, type));
  nlattr* const ip = must(nla_nest_start(message, CTA_TUPLE_IP));
  put_address(message, v6 ? CTA_IP_V6_SRC : CTA_IP_V4_SRC, source.address, family);
  put_address(message, v6 ? CTA_IP_V6_DST : CTA_IP_V4_DST, destination.address, family);
  nla_nest_end(message, ip);
  nlattr* const proto = must(nla_nest_start(message, CTA_TUPLE_PROTO));
  must(nla_put_u8(message, CTA_PROTO_NUM, number_of(protocol)));
  must(nla_put_u16(message, CTA_PROTO_SRC_PORT, htons(source.port)));
  must(nla_put_u16(message, CTA_PROTO_DST_PORT, htons(destination.port)));
  nla_nest_end(message, proto);
  nla_nest_end(message, tuple);
}

void put_translation(nl_msg* message, int type, const RealServer& to, abi::Family family) {
  nlattr* const nat = must(nla_nest_start(message, type));
  put_address(message, family == abi::Family::kIpv6 ? CTA_NAT_V6_MINIP : CTA_NAT_V4_MINIP, to.address, family);
  nlattr* const proto = must(nla_nest_start(message, CTA_NAT_PROTO));
  must(nla_put_u16(message, CTA_PROTONAT_PORT_MIN, htons(to.port)));
  must(nla_put_u16(message, CTA_PROTONAT_PORT_MAX, htons(to.port)));
  nla_nest_end(message, proto);
  nla_nest_end(message, nat);
}

// The sequence numbers are no longer known.
void put_tcp(nl_msg* message, std::uint8_t state) {
  const nf_ct_tcp_flags liberal{IP_CT_TCP_FLAG_BE_LIBERAL, IP_CT_TCP_FLAG_BE_LIBERAL};
  nlattr* const info = must(nla_nest_start(message, CTA_PROTOINFO));
  nlattr* const tcp = must(nla_nest_start(message, CTA_PROTOINFO_TCP));
  must(nla_put_u8(message, CTA_PROTOINFO_TCP_STATE, state));
  must(nla_put(message, CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, sizeof(liberal), &liberal));
  must(nla_put(message, CTA_PROTOINFO_TCP_FLAGS_REPLY, sizeof(liberal), &liberal));
  nla_nest_end(message, tcp);
  nla_nest_end(message, info);
}

}  // namespace

std::optional<ForgottenFlow> read_forgotten(nlmsghdr* message, abi::Family family) {
  if (message->nlmsg_type != ((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_DELETE) || message->nlmsg_pid != 0 ||
      nlmsg_datalen(message) < static_cast<int>(sizeof(nfgenmsg)) ||
      static_cast<const nfgenmsg*>(nlmsg_data(message))->nfgen_family != sdk::socket_family(family)) {
    return std::nullopt;
  }
  Attributes<CTA_MAX> entry{};
  if (nlmsg_parse(message, sizeof(nfgenmsg), entry.data(), CTA_MAX, nullptr) != 0 || entry[CTA_ZONE] != nullptr) return std::nullopt;
  ForgottenFlow flow;
  flow.seconds = read_number(entry[CTA_TIMEOUT]);
  flow.status = read_number(entry[CTA_STATUS]);
  flow.mark = read_number(entry[CTA_MARK]);
  Tuple sent, answer;
  if (flow.seconds == 0 || (flow.status & IPS_DST_NAT) == 0 || !read_tuple(entry[CTA_TUPLE_ORIG], family, sent) ||
      !read_tuple(entry[CTA_TUPLE_REPLY], family, answer)) {
    return std::nullopt;
  }
  if (sent.protocol == IPPROTO_TCP) {
    flow.tcp_state = read_tcp_state(entry[CTA_PROTOINFO]);
    if (flow.tcp_state == 0) return std::nullopt;
  } else if (sent.protocol != IPPROTO_UDP) {
    return std::nullopt;
  }
  flow.client = sent.source;
  flow.service = {sent.destination.address, sent.destination.port,
                  sent.protocol == IPPROTO_TCP ? abi::Protocol::kTcp : abi::Protocol::kUdp};
  flow.endpoint = answer.source;
  flow.reply_to = answer.destination;
  return flow;
}

lib::netlink::Message restore_request(const ForgottenFlow& flow, abi::Family family) {
  nfgenmsg header{};
  header.nfgen_family = static_cast<std::uint8_t>(sdk::socket_family(family));
  header.version = NFNETLINK_V0;
  lib::netlink::Message owned =
      lib::netlink::make_message((NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL, header);
  nl_msg* const message = owned.get();
  const RealServer service{flow.service.address, flow.service.port};
  const abi::Protocol protocol = flow.service.protocol;
  // Without translation, because the NAT attributes below apply it; otherwise the kernel would take it for done.
  put_tuple(message, CTA_TUPLE_ORIG, flow.client, service, protocol, family);
  put_tuple(message, CTA_TUPLE_REPLY, service, flow.client, protocol, family);
  put_translation(message, CTA_NAT_DST, flow.endpoint, family);
  if (!(flow.reply_to == flow.client)) put_translation(message, CTA_NAT_SRC, flow.reply_to, family);
  must(nla_put_u32(message, CTA_STATUS, htonl(IPS_CONFIRMED | (flow.status & (IPS_SEEN_REPLY | IPS_ASSURED)))));
  must(nla_put_u32(message, CTA_TIMEOUT, htonl(flow.seconds)));
  if (flow.mark != 0) must(nla_put_u32(message, CTA_MARK, htonl(flow.mark)));
  if (flow.tcp_state != 0) put_tcp(message, flow.tcp_state);
  return owned;
}

}  // namespace sluice::ipvs

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "test/unit/ipvs/ipvs_socket.hpp"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <cstring>
#include <optional>
#include <vector>

namespace sluice::ipvs {
namespace {

using lib::netlink::Message;
using lib::netlink::must;

std::string finished(const Message& message, std::uint32_t sequence, int flags) {
  nlmsghdr* const header = nlmsg_hdr(message.get());
  header->nlmsg_seq = sequence;
  header->nlmsg_pid = kIpvsPortId;
  header->nlmsg_flags = static_cast<std::uint16_t>(flags);
  std::string text(lib::netlink::bytes_of(message));
  text.resize(NLMSG_ALIGN(text.size()));
  return text;
}

abi::Family family_of(int af) { return af == AF_INET6 ? abi::Family::kIpv6 : abi::Family::kIpv4; }
// The fake has one table for both families: an address of more than four bytes is IPv6.
int af_of(const abi::Address& address) {
  return std::any_of(address.bytes + 4, address.bytes + 16, [](std::uint8_t byte) { return byte != 0; }) ? AF_INET6
                                                                                                          : AF_INET;
}

class IpvsSocket final : public lib::netlink::RawSocket {
 public:
  explicit IpvsSocket(IpvsLine& line) : line_(line) {
    ++line_.opened;
    line_.queue.clear();
  }

  int send(std::string_view datagram) noexcept override {
    if (line_.send_error != 0) return std::exchange(line_.send_error, 0);
    std::string copy(datagram);
    ++line_.datagrams;
    int left = static_cast<int>(copy.size());
    std::size_t requests = 0;
    for (nlmsghdr* header = first_message(copy); nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
      ++requests;
      serve(header);
    }
    line_.most_requests = std::max(line_.most_requests, requests);
    if (line_.corrupt) line_.corrupt(line_.queue);
    return 0;
  }

  long receive(std::span<char> into, std::chrono::milliseconds) noexcept override {
    if (line_.queue.empty()) return -EAGAIN;  // without waiting: no more answers can arrive
    const IpvsItem item = line_.queue.front();
    line_.queue.pop_front();
    if (item.error != 0) return -item.error;
    std::memcpy(into.data(), item.bytes.data(), std::min(into.size(), item.bytes.size()));
    return static_cast<long>(item.bytes.size());
  }

  std::uint32_t port_id() const noexcept override { return kIpvsPortId; }

 private:
  void push(std::string bytes) { line_.queue.push_back({std::move(bytes), 0}); }

  void serve(nlmsghdr* header) {
    const std::uint32_t sequence = header->nlmsg_seq;
    if (header->nlmsg_pid != kIpvsPortId || (header->nlmsg_flags & NLM_F_REQUEST) == 0) return;
    const bool dump = (header->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    int error = 0;
    if (header->nlmsg_type == GENL_ID_CTRL) {
      error = serve_control(header);
    } else if (line_.id == 0 || header->nlmsg_type != line_.id) {
      error = ENOENT;
    } else if (dump) {
      serve_dump(header);
      return;
    } else {
      error = serve_change(header);
    }
    if (error != 0 || (header->nlmsg_flags & NLM_F_ACK) != 0) push(acknowledgement(sequence, error));
  }

  int serve_control(nlmsghdr* header) {
    const nlattr* const name = nlmsg_find_attr(header, GENL_HDRLEN, CTRL_ATTR_FAMILY_NAME);
    if (name == nullptr || std::string(static_cast<const char*>(nla_data(name))) != "IPVS") return EINVAL;
    if (line_.id == 0) return ENOENT;
    const Message answer = lib::netlink::make_generic(GENL_ID_CTRL, CTRL_CMD_NEWFAMILY, 2);
    must(nla_put_u16(answer.get(), CTRL_ATTR_FAMILY_ID, line_.id));
    push(finished(answer, header->nlmsg_seq, 0));
    return 0;
  }

  // As ip_vs_genl_parse_service in the kernel.
  static int parse_server(nlattr* outer, bool full, VirtualServer& server) {
    nlattr* found[IPVS_SVC_ATTR_MAX + 1] = {};
    if (outer == nullptr || nla_parse_nested(found, IPVS_SVC_ATTR_MAX, outer, nullptr) != 0) return EINVAL;
    const auto has = [&](int type, int size) { return found[type] != nullptr && nla_len(found[type]) == size; };
    if (!has(IPVS_SVC_ATTR_AF, 2) || !has(IPVS_SVC_ATTR_PROTOCOL, 2) || !has(IPVS_SVC_ATTR_ADDR, 16) ||
        !has(IPVS_SVC_ATTR_PORT, 2)) {
      return EINVAL;
    }
    const int af = nla_get_u16(found[IPVS_SVC_ATTR_AF]);
    if (af != AF_INET && af != AF_INET6) return EAFNOSUPPORT;
    std::memcpy(server.key.address.bytes, nla_data(found[IPVS_SVC_ATTR_ADDR]), 16);
    server.key.port = ntohs(nla_get_u16(found[IPVS_SVC_ATTR_PORT]));
    server.key.protocol = static_cast<abi::Protocol>(nla_get_u16(found[IPVS_SVC_ATTR_PROTOCOL]));
    if (!full) return 0;
    if (found[IPVS_SVC_ATTR_SCHED_NAME] == nullptr || !has(IPVS_SVC_ATTR_FLAGS, 8) || !has(IPVS_SVC_ATTR_TIMEOUT, 4) ||
        !has(IPVS_SVC_ATTR_NETMASK, 4)) {
      return EINVAL;
    }
    const std::uint32_t mask = nla_get_u32(found[IPVS_SVC_ATTR_NETMASK]);
    if (mask != (family_of(af) == abi::Family::kIpv6 ? 128 : 0xFFFFFFFF)) return EINVAL;
    ip_vs_flags flags{};
    std::memcpy(&flags, nla_data(found[IPVS_SVC_ATTR_FLAGS]), sizeof(flags));
    if (flags.mask != ~std::uint32_t{0}) return EINVAL;
    server.flags = flags.flags;
    server.scheduler = static_cast<const char*>(nla_data(found[IPVS_SVC_ATTR_SCHED_NAME]));
    server.persistence_seconds = nla_get_u32(found[IPVS_SVC_ATTR_TIMEOUT]);
    return 0;
  }

  static int parse_real(nlattr* outer, bool full, ServerCommand& command) {
    nlattr* found[IPVS_DEST_ATTR_MAX + 1] = {};
    if (outer == nullptr || nla_parse_nested(found, IPVS_DEST_ATTR_MAX, outer, nullptr) != 0) return EINVAL;
    const auto has = [&](int type, int size) { return found[type] != nullptr && nla_len(found[type]) == size; };
    if (!has(IPVS_DEST_ATTR_ADDR, 16) || !has(IPVS_DEST_ATTR_PORT, 2) || !has(IPVS_DEST_ATTR_ADDR_FAMILY, 2)) return EINVAL;
    std::memcpy(command.real.address.bytes, nla_data(found[IPVS_DEST_ATTR_ADDR]), 16);
    command.real.port = ntohs(nla_get_u16(found[IPVS_DEST_ATTR_PORT]));
    if (!full) return 0;
    if (!has(IPVS_DEST_ATTR_FWD_METHOD, 4) || !has(IPVS_DEST_ATTR_WEIGHT, 4) || !has(IPVS_DEST_ATTR_U_THRESH, 4) ||
        !has(IPVS_DEST_ATTR_L_THRESH, 4) || nla_get_u32(found[IPVS_DEST_ATTR_FWD_METHOD]) != IP_VS_CONN_F_MASQ) {
      return EINVAL;
    }
    command.weight = static_cast<std::int32_t>(nla_get_u32(found[IPVS_DEST_ATTR_WEIGHT]));
    return 0;
  }

  int serve_change(nlmsghdr* header) {
    const auto* const generic = static_cast<const genlmsghdr*>(nlmsg_data(header));
    if (generic->cmd == IPVS_CMD_SET_CONFIG) {
      const auto value = [&](int type) {
        return static_cast<std::uint32_t>(lib::netlink::integer_attribute(nlmsg_find_attr(header, GENL_HDRLEN, type)));
      };
      line_.kernel.set_timeouts(
          {value(IPVS_CMD_ATTR_TIMEOUT_TCP), value(IPVS_CMD_ATTR_TIMEOUT_TCP_FIN), value(IPVS_CMD_ATTR_TIMEOUT_UDP)});
      return 0;
    }
    if (generic->cmd == IPVS_CMD_GET_CONFIG) {
      const Message answer = lib::netlink::make_generic(line_.id, IPVS_CMD_SET_CONFIG, 1);
      must(nla_put_u32(answer.get(), IPVS_CMD_ATTR_TIMEOUT_TCP, line_.kernel.set_to.tcp));
      must(nla_put_u32(answer.get(), IPVS_CMD_ATTR_TIMEOUT_TCP_FIN, line_.kernel.set_to.tcp_fin));
      must(nla_put_u32(answer.get(), IPVS_CMD_ATTR_TIMEOUT_UDP, line_.kernel.set_to.udp));
      push(finished(answer, header->nlmsg_seq, 0));
      return 0;
    }
    ServerCommand command;
    switch (generic->cmd) {
      case IPVS_CMD_NEW_SERVICE: command.kind = ServerCommandKind::kAddServer; break;
      case IPVS_CMD_SET_SERVICE: command.kind = ServerCommandKind::kEditServer; break;
      case IPVS_CMD_DEL_SERVICE: command.kind = ServerCommandKind::kDeleteServer; break;
      case IPVS_CMD_NEW_DEST: command.kind = ServerCommandKind::kAddReal; break;
      case IPVS_CMD_SET_DEST: command.kind = ServerCommandKind::kEditReal; break;
      case IPVS_CMD_DEL_DEST: command.kind = ServerCommandKind::kDeleteReal; break;
      default: return EOPNOTSUPP;
    }
    const bool full = command.kind == ServerCommandKind::kAddServer || command.kind == ServerCommandKind::kEditServer;
    nlattr* const server = nlmsg_find_attr(header, GENL_HDRLEN, IPVS_CMD_ATTR_SERVICE);
    if (const int error = parse_server(server, full, command.server)) return error;
    if (command.kind >= ServerCommandKind::kAddReal) {
      nlattr* const real = nlmsg_find_attr(header, GENL_HDRLEN, IPVS_CMD_ATTR_DEST);
      if (const int error = parse_real(real, command.kind != ServerCommandKind::kDeleteReal, command)) return error;
    }
    return line_.kernel.execute({command}).front();
  }

  void serve_dump(nlmsghdr* header) {
    const std::uint32_t sequence = header->nlmsg_seq;
    std::vector<std::string> parts;
    if (static_cast<const genlmsghdr*>(nlmsg_data(header))->cmd == IPVS_CMD_GET_SERVICE) {
      parts.push_back(firewall_mark(sequence));
      for (const VirtualServerState& server : line_.kernel.servers()) parts.push_back(encode_server(server, sequence));
    } else {
      VirtualServer server;
      if (parse_server(nlmsg_find_attr(header, GENL_HDRLEN, IPVS_CMD_ATTR_SERVICE), false, server) == 0) {
        for (const RealServerState& state : line_.kernel.real_servers(server.key)) {
          parts.push_back(encode_real(state, sequence));
        }
      }
    }
    std::string datagram;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      datagram += parts[i];
      if ((i + 1) % line_.in_datagram == 0) push(std::exchange(datagram, {}));
    }
    if (!datagram.empty()) push(datagram);
    push(done(sequence));
  }

  // As ip_vs_genl_fill_stats64 and ip_vs_genl_fill_stats.
  void put_counters(nl_msg* message, int wide, int narrow, const IpvsCounters& counters) const {
    if (!counters.known) return;
    nlattr* const nested = must(nla_nest_start(message, line_.wide_counters ? wide : narrow));
    const auto put = [&](int type, std::uint64_t value) {
      if (line_.wide_counters) return must(nla_put_u64(message, type, value));
      must(nla_put_u32(message, type, static_cast<std::uint32_t>(value)));
    };
    put(IPVS_STATS_ATTR_CONNS, counters.connections);
    put(IPVS_STATS_ATTR_INPKTS, counters.packets);
    put(IPVS_STATS_ATTR_OUTPKTS, counters.reply_packets);
    must(nla_put_u64(message, IPVS_STATS_ATTR_INBYTES, counters.bytes));
    must(nla_put_u64(message, IPVS_STATS_ATTR_OUTBYTES, counters.reply_bytes));
    nla_nest_end(message, nested);
  }

  std::string encode_server(const VirtualServerState& server, std::uint32_t sequence) const {
    const Message message = lib::netlink::make_generic(line_.id, IPVS_CMD_NEW_SERVICE, 1);
    nlattr* const nested = must(nla_nest_start(message.get(), IPVS_CMD_ATTR_SERVICE));
    const int af = af_of(server.key.address);
    const ip_vs_flags flags{server.flags | IP_VS_SVC_F_HASHED, ~std::uint32_t{0}};
    must(nla_put_u16(message.get(), IPVS_SVC_ATTR_AF, static_cast<std::uint16_t>(af)));
    must(nla_put_u16(message.get(), IPVS_SVC_ATTR_PROTOCOL, static_cast<std::uint16_t>(server.key.protocol)));
    must(nla_put(message.get(), IPVS_SVC_ATTR_ADDR, 16, server.key.address.bytes));
    must(nla_put_u16(message.get(), IPVS_SVC_ATTR_PORT, htons(server.key.port)));
    must(nla_put_string(message.get(), IPVS_SVC_ATTR_SCHED_NAME, server.scheduler.c_str()));
    must(nla_put(message.get(), IPVS_SVC_ATTR_FLAGS, sizeof(flags), &flags));
    must(nla_put_u32(message.get(), IPVS_SVC_ATTR_TIMEOUT, server.persistence_seconds));
    must(nla_put_u32(message.get(), IPVS_SVC_ATTR_NETMASK, 0xFFFFFFFF));
    put_counters(message.get(), IPVS_SVC_ATTR_STATS64, IPVS_SVC_ATTR_STATS, server.counters);
    nla_nest_end(message.get(), nested);
    return finished(message, sequence, NLM_F_MULTI);
  }

  // A foreign one without address and port.
  std::string firewall_mark(std::uint32_t sequence) const {
    const Message message = lib::netlink::make_generic(line_.id, IPVS_CMD_NEW_SERVICE, 1);
    nlattr* const nested = must(nla_nest_start(message.get(), IPVS_CMD_ATTR_SERVICE));
    must(nla_put_u16(message.get(), IPVS_SVC_ATTR_AF, AF_INET));
    must(nla_put_u32(message.get(), IPVS_SVC_ATTR_FWMARK, 7));
    must(nla_put_string(message.get(), IPVS_SVC_ATTR_SCHED_NAME, "rr"));
    nla_nest_end(message.get(), nested);
    return finished(message, sequence, NLM_F_MULTI);
  }

  std::string encode_real(const RealServerState& state, std::uint32_t sequence) const {
    const Message message = lib::netlink::make_generic(line_.id, IPVS_CMD_NEW_DEST, 1);
    nlattr* const nested = must(nla_nest_start(message.get(), IPVS_CMD_ATTR_DEST));
    must(nla_put(message.get(), IPVS_DEST_ATTR_ADDR, 16, state.server.address.bytes));
    must(nla_put_u16(message.get(), IPVS_DEST_ATTR_PORT, htons(state.server.port)));
    must(nla_put_u32(message.get(), IPVS_DEST_ATTR_FWD_METHOD, state.masquerades ? IP_VS_CONN_F_MASQ : IP_VS_CONN_F_DROUTE));
    must(nla_put_u32(message.get(), IPVS_DEST_ATTR_WEIGHT, static_cast<std::uint32_t>(state.weight)));
    must(nla_put_u32(message.get(), IPVS_DEST_ATTR_ACTIVE_CONNS, static_cast<std::uint32_t>(state.active)));
    must(nla_put_u32(message.get(), IPVS_DEST_ATTR_INACT_CONNS, static_cast<std::uint32_t>(state.connections - state.active)));
    put_counters(message.get(), IPVS_DEST_ATTR_STATS64, IPVS_DEST_ATTR_STATS, state.counters);
    must(nla_put_u32(message.get(), IPVS_DEST_ATTR_PERSIST_CONNS, 9));
    must(nla_put_u16(message.get(), IPVS_DEST_ATTR_ADDR_FAMILY, static_cast<std::uint16_t>(af_of(state.server.address))));
    nla_nest_end(message.get(), nested);
    return finished(message, sequence, NLM_F_MULTI);
  }

  IpvsLine& line_;
};

}  // namespace

netlink::OpenRawSocket IpvsLine::opener() {
  return [this] { return std::make_unique<IpvsSocket>(*this); };
}

std::string acknowledgement(std::uint32_t sequence, int error, const std::string& reason) {
  nlmsgerr body{};
  body.error = -error;
  body.msg.nlmsg_len = sizeof(body.msg);
  body.msg.nlmsg_seq = sequence;
  const Message message = lib::netlink::make_message(NLMSG_ERROR, 0, body);
  if (!reason.empty()) must(nla_put_string(message.get(), NLMSGERR_ATTR_MSG, reason.c_str()));
  return finished(message, sequence, NLM_F_CAPPED | (reason.empty() ? 0 : NLM_F_ACK_TLVS));
}

std::string done(std::uint32_t sequence, int error) {
  const int body = -error;
  return finished(lib::netlink::make_message(NLMSG_DONE, 0, body), sequence, NLM_F_MULTI);
}

nlmsghdr* first_message(std::string& datagram) { return reinterpret_cast<nlmsghdr*>(datagram.data()); }

}  // namespace sluice::ipvs

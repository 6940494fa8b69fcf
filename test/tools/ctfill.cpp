// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// ctfill: fills the connection tracking table of its network namespace with UDP entries, fast.
// Entry i is a flow of client 100.64.x.y to a service address 172.31.z.w port 53, translated to the endpoint 10.99.z.w
// port 53; with IPv6 the same numbers after fd00:.
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBatch = 256;
constexpr std::size_t kRoom = 512;

struct Options {
  std::uint32_t count = 0;
  std::uint32_t services = 1;
  std::uint32_t first = 0;  // number of the first service
  bool ipv6 = false;
};

struct End {
  std::uint32_t address;
  std::uint16_t port;
};

void put_tuple(nlmsghdr* message, std::uint16_t type, bool ipv6, End from, End to) {
  nlattr* tuple = mnl_attr_nest_start(message, type);
  nlattr* ip = mnl_attr_nest_start(message, CTA_TUPLE_IP);
  const auto put = [&](std::uint16_t v4, std::uint16_t v6, std::uint32_t address) {
    std::uint8_t bytes[16] = {0xfd};
    const std::uint32_t network = htonl(address);
    std::memcpy(bytes + 12, &network, 4);
    if (ipv6) mnl_attr_put(message, v6, 16, bytes);
    else mnl_attr_put(message, v4, 4, bytes + 12);
  };
  put(CTA_IP_V4_SRC, CTA_IP_V6_SRC, from.address);
  put(CTA_IP_V4_DST, CTA_IP_V6_DST, to.address);
  mnl_attr_nest_end(message, ip);
  nlattr* proto = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
  mnl_attr_put_u8(message, CTA_PROTO_NUM, IPPROTO_UDP);
  mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(from.port));
  mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(to.port));
  mnl_attr_nest_end(message, proto);
  mnl_attr_nest_end(message, tuple);
}

nlmsghdr* put_entry(void* buffer, const Options& options, std::uint32_t i) {
  nlmsghdr* message = mnl_nlmsg_put_header(buffer);
  message->nlmsg_type = (NFNL_SUBSYS_CTNETLINK << 8) | IPCTNL_MSG_CT_NEW;
  message->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL;
  message->nlmsg_seq = i + 1;
  auto* header = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
  header->nfgen_family = options.ipv6 ? AF_INET6 : AF_INET;
  header->version = NFNETLINK_V0;
  const std::uint32_t service = options.first + i % options.services;
  const End client{0x64400000 + options.first / 1000 * 0x10000 + i / 60000, static_cast<std::uint16_t>(1024 + i % 60000)};
  const End front{0xac1f0000 + service, 53};
  const End endpoint{0x0a630000 + service, 53};
  put_tuple(message, CTA_TUPLE_ORIG, options.ipv6, client, front);
  put_tuple(message, CTA_TUPLE_REPLY, options.ipv6, endpoint, client);
  mnl_attr_put_u32(message, CTA_STATUS, htonl(IPS_CONFIRMED | IPS_ASSURED | IPS_SEEN_REPLY));
  mnl_attr_put_u32(message, CTA_TIMEOUT, htonl(3600));
  return message;
}

int fail(const char* what, int error) {
  std::fprintf(stderr, "ctfill: %s: %s\n", what, std::strerror(error));
  return 1;
}

int fill(const Options& options) {
  mnl_socket* socket = mnl_socket_open(NETLINK_NETFILTER);
  if (socket == nullptr || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) != 0) return fail("netlink", errno);
  std::vector<char> batch(kBatch * kRoom);
  std::vector<char> answer(1u << 16);
  for (std::uint32_t i = 0; i < options.count;) {
    std::size_t size = 0;
    nlmsghdr* last = nullptr;
    for (std::size_t n = 0; n < kBatch && i < options.count; ++n, ++i) {
      last = put_entry(batch.data() + size, options, i);
      size += MNL_ALIGN(last->nlmsg_len);
    }
    last->nlmsg_flags |= NLM_F_ACK;
    if (mnl_socket_sendto(socket, batch.data(), size) < 0) return fail("sending", errno);
    // Only the last message requests an acknowledgement, so the first answer is that or an error.
    const ssize_t got = mnl_socket_recvfrom(socket, answer.data(), answer.size());
    if (got < 0) return fail("receiving", errno);
    const auto* header = reinterpret_cast<const nlmsghdr*>(answer.data());
    const int error = -static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(header))->error;
    if (error != 0) return fail("making an entry", error);
  }
  mnl_socket_close(socket);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-6") {
      options.ipv6 = true;
    } else if (i + 1 < argc && (word == "--count" || word == "--services" || word == "--first")) {
      const auto number = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10));
      (word == "--count" ? options.count : word == "--services" ? options.services : options.first) = number;
    } else {
      std::fprintf(stderr, "usage: ctfill --count N [--services N] [--first SERVICE] [-6]\n");
      return 2;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  if (options.services == 0) options.services = 1;
  if (const int status = fill(options); status != 0) return status;
  std::printf("%u entries in %.2f s\n", options.count,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

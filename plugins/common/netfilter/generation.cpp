// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/generation.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <sys/socket.h>
#include <sys/time.h>

#include <utility>

namespace sluice::netfilter {
namespace {

constexpr int kGetGeneration = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETGEN;
constexpr int kNewGeneration = (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_NEWGEN;

int take(nl_msg* message, void* into) {
  nlmsghdr* header = nlmsg_hdr(message);
  if (header->nlmsg_type != kNewGeneration) return NL_SKIP;
  const nlattr* id = nlmsg_find_attr(header, sizeof(nfgenmsg), NFTA_GEN_ID);
  if (id != nullptr && nla_len(id) >= static_cast<int>(sizeof(std::uint32_t))) {
    *static_cast<std::optional<std::uint32_t>*>(into) = ntohl(nla_get_u32(id));
  }
  return NL_STOP;
}

}  // namespace

GenerationReader::GenerationReader() = default;
GenerationReader::~GenerationReader() = default;

void GenerationReader::Close::operator()(nl_sock* socket) const noexcept { nl_socket_free(socket); }

nl_sock* GenerationReader::open_socket() {
  if (socket_) return socket_.get();
  std::unique_ptr<nl_sock, Close> made(nl_socket_alloc());
  if (!made || nl_connect(made.get(), NETLINK_NETFILTER) != 0) return nullptr;
  nl_socket_disable_seq_check(made.get());
  nl_socket_disable_auto_ack(made.get());
  const timeval limit{1, 0};
  setsockopt(nl_socket_get_fd(made.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  socket_ = std::move(made);
  return socket_.get();
}

std::optional<std::uint32_t> GenerationReader::read() {
  nl_sock* socket = open_socket();
  if (socket == nullptr) return std::nullopt;
  nfgenmsg request{};
  request.nfgen_family = AF_UNSPEC;
  request.version = NFNETLINK_V0;
  std::optional<std::uint32_t> generation;
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, &take, &generation);
  if (nl_send_simple(socket, kGetGeneration, 0, &request, sizeof(request)) < 0 || nl_recvmsgs_default(socket) < 0) {
    socket_.reset();  // an answer may still come: it must not be taken for the next one
    return std::nullopt;
  }
  return generation;
}

}  // namespace sluice::netfilter

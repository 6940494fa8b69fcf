// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cleanup/netlink_connection.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <new>
#include <utility>

namespace sluice::cleanup {
namespace {

constexpr timeval kReceiveTimeout{5, 0};

// State of one request and its replies.
struct Exchange {
  const NetlinkConnection::Take& take;
  std::size_t pending;
  int error = 0;
};

int on_object(nl_msg* message, void* into) {
  const auto& exchange = *static_cast<Exchange*>(into);
  if (exchange.take) exchange.take(*nlmsg_hdr(message));
  return NL_OK;
}

int on_end(nl_msg*, void* into) {
  auto& exchange = *static_cast<Exchange*>(into);
  if (exchange.pending > 0) --exchange.pending;
  return NL_STOP;
}

int on_error(sockaddr_nl*, nlmsgerr* error, void* into) {
  auto& exchange = *static_cast<Exchange*>(into);
  if (exchange.error == 0) exchange.error = -error->error;
  exchange.pending = 0;
  return NL_STOP;
}

}  // namespace

void FreeNetlinkMessage::operator()(nl_msg* message) const noexcept { nlmsg_free(message); }

NetlinkMessage netlink_message(int type, int flags, const void* header, std::size_t size) {
  NetlinkMessage message(nlmsg_alloc_simple(type, NLM_F_REQUEST | flags));
  if (!message || (size != 0 && nlmsg_append(message.get(), const_cast<void*>(header), size, NLMSG_ALIGNTO) != 0)) {
    throw std::bad_alloc();
  }
  return message;
}

NetlinkMessage netfilter_message(int subsystem, int type, int flags, int family) {
  nfgenmsg header{};
  header.nfgen_family = static_cast<std::uint8_t>(family);
  header.version = NFNETLINK_V0;
  return netlink_message((subsystem << 8) | type, flags, &header, sizeof(header));
}

void put_u8(NetlinkMessage& message, int attribute, std::uint8_t value) {
  if (nla_put_u8(message.get(), attribute, value) != 0) throw std::bad_alloc();
}

void put_string(NetlinkMessage& message, int attribute, const std::string& value) {
  if (nla_put_string(message.get(), attribute, value.c_str()) != 0) throw std::bad_alloc();
}

NetlinkConnection::NetlinkConnection(int protocol) : socket_(nl_socket_alloc()) {
  if (!socket_) throw std::bad_alloc();
  if (nl_connect(socket_.get(), protocol) != 0) {
    error_ = errno != 0 ? errno : EPROTONOSUPPORT;
    return;
  }
  nl_socket_disable_seq_check(socket_.get());  // one request at a time; an error ends the use of the socket
  nl_socket_disable_auto_ack(socket_.get());   // requests set NLM_F_ACK themselves
  setsockopt(nl_socket_get_fd(socket_.get()), SOL_SOCKET, SO_RCVTIMEO, &kReceiveTimeout, sizeof(kReceiveTimeout));
}

NetlinkConnection::~NetlinkConnection() = default;

void NetlinkConnection::Close::operator()(nl_sock* socket) const noexcept { nl_socket_free(socket); }

int NetlinkConnection::ask(const NetlinkMessage& request, const Take& take) {
  if (error_ != 0) return error_;
  nlmsg_hdr(request.get())->nlmsg_flags |= NLM_F_ACK;
  if (nl_send_auto(socket_.get(), request.get()) < 0) return error_ = EIO;
  return receive(1, take);
}

int NetlinkConnection::commit(std::vector<NetlinkMessage> changes) {
  if (error_ != 0) return error_;
  nfgenmsg frame{};
  frame.res_id = htons(NFNL_SUBSYS_NFTABLES);
  std::string bytes;
  const auto add = [&](const NetlinkMessage& message) {
    nlmsghdr* header = nlmsg_hdr(message.get());
    nl_complete_msg(socket_.get(), message.get());
    bytes.append(reinterpret_cast<const char*>(header), header->nlmsg_len);
    bytes.append(NLMSG_ALIGN(header->nlmsg_len) - header->nlmsg_len, '\0');
  };
  add(netlink_message(NFNL_MSG_BATCH_BEGIN, 0, &frame, sizeof(frame)));
  for (NetlinkMessage& change : changes) {
    nlmsg_hdr(change.get())->nlmsg_flags |= NLM_F_ACK;
    add(change);
  }
  add(netlink_message(NFNL_MSG_BATCH_END, 0, &frame, sizeof(frame)));
  if (nl_sendto(socket_.get(), bytes.data(), bytes.size()) < 0) return error_ = EIO;
  const int failed = receive(changes.size(), {});
  // More errors of this transaction may follow, so the socket is not used again.
  if (failed != 0) error_ = failed;
  return failed;
}

int NetlinkConnection::receive(std::size_t replies, const Take& take) {
  Exchange exchange{take, replies};
  nl_socket_modify_cb(socket_.get(), NL_CB_VALID, NL_CB_CUSTOM, &on_object, &exchange);
  nl_socket_modify_cb(socket_.get(), NL_CB_FINISH, NL_CB_CUSTOM, &on_end, &exchange);
  nl_socket_modify_cb(socket_.get(), NL_CB_ACK, NL_CB_CUSTOM, &on_end, &exchange);
  nl_socket_modify_err_cb(socket_.get(), NL_CB_CUSTOM, &on_error, &exchange);
  while (exchange.pending > 0) {
    const int result = nl_recvmsgs_default(socket_.get());
    if (exchange.error != 0) break;
    if (result < 0) return error_ = result == -NLE_AGAIN ? ETIMEDOUT : result == -NLE_DUMP_INTR ? EINTR : EIO;
  }
  return exchange.error;
}

bool is_unsupported(int error) { return error == EPROTONOSUPPORT || error == EOPNOTSUPP || error == EINVAL; }

}  // namespace sluice::cleanup

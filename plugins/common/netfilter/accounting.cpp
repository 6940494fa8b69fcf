// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/netfilter/accounting.hpp"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_acct.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <endian.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <new>
#include <utility>

namespace sluice::netfilter {
namespace {

constexpr int kNew = (NFNL_SUBSYS_ACCT << 8) | NFNL_MSG_ACCT_NEW;
constexpr int kGet = (NFNL_SUBSYS_ACCT << 8) | NFNL_MSG_ACCT_GET;

Message request(int type, int flags, const std::string& name) {
  Message message(nlmsg_alloc_simple(type, flags));
  nfgenmsg header{};
  header.nfgen_family = AF_UNSPEC;
  header.version = NFNETLINK_V0;
  if (!message || nlmsg_append(message.get(), &header, sizeof(header), NLMSG_ALIGNTO) != 0 ||
      nla_put_string(message.get(), NFACCT_NAME, name.c_str()) != 0) {
    throw std::bad_alloc();
  }
  return message;
}

struct Answer {
  int error = 0;
  std::optional<std::uint64_t> packets;
};

// The kernel answers with an object of type "new", then with the acknowledgement.
int take(nl_msg* message, void* into) {
  nlmsghdr* header = nlmsg_hdr(message);
  if (header->nlmsg_type != kNew) return NL_SKIP;
  const nlattr* packets = nlmsg_find_attr(header, sizeof(nfgenmsg), NFACCT_PKTS);
  if (packets != nullptr && nla_len(packets) >= static_cast<int>(sizeof(std::uint64_t))) {
    static_cast<Answer*>(into)->packets = be64toh(nla_get_u64(packets));
  }
  return NL_OK;
}

int take_acknowledgement(nl_msg*, void*) { return NL_STOP; }

int take_error(sockaddr_nl*, nlmsgerr* error, void* into) {
  static_cast<Answer*>(into)->error = -error->error;
  return NL_STOP;
}

}  // namespace

void FreeMessage::operator()(nl_msg* message) const noexcept { nlmsg_free(message); }

Message ask_for_counter(const std::string& name) { return request(kGet, NLM_F_REQUEST | NLM_F_ACK, name); }

Message make_counter(const std::string& name) {
  return request(kNew, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, name);
}

std::string_view bytes(const Message& message) noexcept {
  const nlmsghdr* header = nlmsg_hdr(message.get());
  return {reinterpret_cast<const char*>(header), header->nlmsg_len};
}

Accounting::Accounting() = default;
Accounting::~Accounting() = default;

void Accounting::Close::operator()(nl_sock* socket) const noexcept { nl_socket_free(socket); }

nl_sock* Accounting::open_socket() {
  if (socket_) return socket_.get();
  std::unique_ptr<nl_sock, Close> made(nl_socket_alloc());
  if (!made || nl_connect(made.get(), NETLINK_NETFILTER) != 0) return nullptr;
  const timeval limit{1, 0};
  setsockopt(nl_socket_get_fd(made.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  socket_ = std::move(made);
  return socket_.get();
}

int Accounting::talk(const Message& request, std::optional<std::uint64_t>& packets) {
  nl_sock* socket = open_socket();
  if (socket == nullptr) return EPROTONOSUPPORT;
  Answer answer;
  nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, &take, &answer);
  nl_socket_modify_cb(socket, NL_CB_ACK, NL_CB_CUSTOM, &take_acknowledgement, nullptr);
  nl_socket_modify_err_cb(socket, NL_CB_CUSTOM, &take_error, &answer);
  if (nl_send_auto(socket, request.get()) < 0 || nl_recvmsgs_default(socket) < 0) {
    if (answer.error != 0) return answer.error;
    socket_.reset();  // an answer may still come: it must not be taken for the next one
    return EIO;
  }
  packets = answer.packets;
  return answer.error;
}

int Accounting::ensure(const std::string& name) {
  std::optional<std::uint64_t> packets;
  const int found = talk(ask_for_counter(name), packets);
  if (found != ENOENT) return found;
  const int made = talk(make_counter(name), packets);
  return made == EEXIST ? 0 : made;
}

std::optional<std::uint64_t> Accounting::packets(const std::string& name) {
  std::optional<std::uint64_t> packets;
  if (talk(ask_for_counter(name), packets) != 0) return std::nullopt;
  return packets;
}

}  // namespace sluice::netfilter

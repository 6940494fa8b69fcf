// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/address_events.hpp"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::node {
namespace {

constexpr const char* kWhat = "cannot watch the addresses of this node";

// The link index of a notification; 0 if it has none. Each datagram has one notification.
unsigned link_of(const nlmsghdr& message, std::size_t size) {
  if (size < NLMSG_LENGTH(sizeof(ifaddrmsg)) || message.nlmsg_len < NLMSG_LENGTH(sizeof(ifaddrmsg))) return 0;
  if (message.nlmsg_type != RTM_NEWADDR && message.nlmsg_type != RTM_DELADDR) return 0;
  return static_cast<const ifaddrmsg*>(NLMSG_DATA(&message))->ifa_index;
}

}  // namespace

AddressEvents::AddressEvents(FindLink find) : find_(std::move(find)) {
  if (!find_) find_ = [] { return if_nametoindex(kServiceLink); };
}

lib::Status AddressEvents::open() {
  socket_ = lib::Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!socket_.valid()) return lib::errno_status(kWhat, errno);
  excluded_link_ = 0;
  // Before bind(), so that no notification of this link is queued.
  if (const unsigned link = find_(); link != 0) exclude_link(link);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    socket_.reset();
    return lib::errno_status(kWhat, error);
  }
  return {};
}

// The kernel drops the notifications of this link before they are queued: 10,000 of them neither wake the thread nor
// overflow the receive buffer.
void AddressEvents::exclude_link(unsigned link) {
  constexpr unsigned kAt = NLMSG_HDRLEN + offsetof(ifaddrmsg, ifa_index);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kAt),  // as if it were in network order
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(link), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  const sock_fprog filter{sizeof(program) / sizeof(program[0]), program};
  // If this fails, drain() filters them.
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
  excluded_link_ = link;
}

AddressEvents::Outcome AddressEvents::drain() {
  alignas(nlmsghdr) char buffer[8192];
  Outcome out = Outcome::kNothing;
  unsigned service_link = excluded_link_;
  bool searched = false;
  for (;;) {
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, MSG_TRUNC);
    if (n > 0) {
      const unsigned link = link_of(*reinterpret_cast<const nlmsghdr*>(buffer), static_cast<std::size_t>(n));
      if (link != 0 && link == service_link) continue;
      // The link may have been created or recreated since. Notifications of its deletion have the old index.
      if (!searched) {
        searched = true;
        const unsigned now = find_();
        if (now != 0 && now != excluded_link_) exclude_link(service_link = now);
      }
      if (link == 0 || link != service_link) out = Outcome::kChanged;
    } else if (n < 0 && (errno == ENOBUFS || errno == EINTR)) {
      out = Outcome::kChanged;  // notifications were lost
    } else if (n < 0 && errno == EAGAIN) {
      return out;
    } else {
      socket_.reset();
      return Outcome::kBroken;
    }
  }
}

}  // namespace sluice::node

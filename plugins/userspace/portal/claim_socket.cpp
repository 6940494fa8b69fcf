// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/claim_socket.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::userspace {
namespace {

bool set(int fd, int level, int option) {
  const int on = 1;
  return setsockopt(fd, level, option, &on, sizeof(on)) == 0;
}

// Datagrams that no rule redirects would otherwise stay in the buffer of a UDP socket.
bool drop_everything(int fd) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

bool ClaimedAddress::operator==(const ClaimedAddress& other) const noexcept {
  return port == other.port && protocol == other.protocol && address == other.address;
}

// Sorts all claims of one port together, the claim of every address first.
bool ClaimedAddress::operator<(const ClaimedAddress& other) const noexcept {
  if (protocol != other.protocol) return protocol < other.protocol;
  if (port != other.port) return port < other.port;
  return address < other.address;
}

bool overlap(const ClaimedAddress& one, const ClaimedAddress& other) noexcept {
  return one.port == other.port && one.protocol == other.protocol &&
         (sdk::is_unspecified(one.address) || sdk::is_unspecified(other.address) || one.address == other.address);
}

int open_claim_socket(abi::Family family, const ClaimedAddress& claimed, lib::Fd& socket) {
  const int type = (claimed.protocol == abi::Protocol::kUdp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  lib::Fd made(::socket(sdk::socket_family(family), type, 0));
  if (!made) return errno;
  if (family == abi::Family::kIpv6) {
    // An address may be tentative, or may just have been removed.
    if (!set(made.get(), IPPROTO_IPV6, IPV6_V6ONLY) || !set(made.get(), IPPROTO_IPV6, IPV6_FREEBIND)) return errno;
  } else if (!set(made.get(), IPPROTO_IP, IP_FREEBIND)) {
    return errno;
  }
  if (!drop_everything(made.get())) return errno;
  // With SO_REUSEADDR, bind() would not fail if another program had the port with SO_REUSEADDR set.
  const SocketAddress address(family, claimed.address, claimed.port);
  if (bind(made.get(), address.get(), address.size()) != 0) return errno;
  socket = std::move(made);
  return 0;
}

ClaimedAddress claimed_by(const lib::Fd& socket) {
  SocketAddress address;
  socklen_t size = SocketAddress::capacity();
  int type = 0;
  socklen_t type_size = sizeof(type);
  if (getsockname(socket.get(), address.get(), &size) != 0) return {};
  if (getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &type_size) != 0) return {};
  return {address.address(), address.port(), type == SOCK_DGRAM ? abi::Protocol::kUdp : abi::Protocol::kTcp};
}

}  // namespace sluice::userspace

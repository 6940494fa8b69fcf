// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/arrival.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace sluice::userspace {
namespace {

constexpr int kOriginalDestination = 80;  // SO_ORIGINAL_DST, IP6T_SO_ORIGINAL_DST

std::string name_of(unsigned interface) {
  std::array<char, IF_NAMESIZE> name{};
  return interface != 0 && if_indextoname(interface, name.data()) != nullptr ? std::string(name.data()) : std::string();
}

// The kernel returns the packet information of a connection only while the option for datagrams is on.
unsigned input_interface_of(int socket, int family) noexcept {
  const bool v6 = family == AF_INET6;
  const int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
  const int wanted = v6 ? IPV6_RECVPKTINFO : IP_PKTINFO;
  const int on = 1;
  const int off = 0;
  if (setsockopt(socket, level, wanted, &on, sizeof(on)) != 0) return 0;
  alignas(cmsghdr) std::array<char, 256> control{};
  socklen_t size = control.size();
  const int failed = getsockopt(socket, level, v6 ? IPV6_2292PKTOPTIONS : IP_PKTOPTIONS, control.data(), &size);
  setsockopt(socket, level, wanted, &off, sizeof(off));
  if (failed != 0) return 0;
  msghdr header{};
  header.msg_control = control.data();
  header.msg_controllen = size;
  return input_interface(header);
}

}  // namespace

unsigned input_interface(const msghdr& message) noexcept {
  auto* const header = const_cast<msghdr*>(&message);  // CMSG_NXTHDR only reads it
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(part), sizeof(info));
      return static_cast<unsigned>(info.ipi_ifindex);
    }
    if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      std::memcpy(&info, CMSG_DATA(part), sizeof(info));
      return info.ipi6_ifindex;
    }
  }
  return 0;
}

bool original_destination(int accepted, int family, SocketAddress& out) noexcept {
  socklen_t size = SocketAddress::capacity();
  const int level = family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
  return getsockopt(accepted, level, kOriginalDestination, out.get(), &size) == 0 && out.family() == family;
}

std::optional<Arrival::Destination> TcpArrival::destination() const noexcept {
  SocketAddress found;
  if (!original_destination(socket_, family_, found)) return std::nullopt;
  return Destination{found.address(), found.port()};
}

std::string TcpArrival::interface() const { return name_of(input_interface_of(socket_, family_)); }

std::optional<Arrival::Destination> UdpArrival::destination() const noexcept {
  ConntrackEntry entry;
  if (conntrack_.find_by_reply({IPPROTO_UDP, local_, client_}, entry) != 0) return std::nullopt;
  return Destination{entry.destination.address(), entry.destination.port()};
}

std::string UdpArrival::interface() const { return name_of(interface_); }

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/client_socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <utility>

#include "lib/number.hpp"
#include "lib/sysctl.hpp"
#include "lib/text.hpp"
#include "plugins/common/netfilter/rule_text.hpp"
#include "plugins/userspace/relay/endpoint_socket.hpp"
#include "plugins/userspace/relay/udp_socket.hpp"

namespace sluice::userspace {
namespace {

constexpr int kTries = 16;  // local ports for one socket
constexpr Nanoseconds kRouteLifetime = 10'000'000'000;
constexpr std::size_t kMostRoutes = 4096;
// Longer than any dial: the longest timeout is a minute. The first packet replaces it by the timeout of the kernel.
constexpr std::uint32_t kEntrySeconds = 60;
constexpr std::uint16_t kDefaultLow = 32768;
constexpr std::uint16_t kDefaultHigh = 60999;

abi::Family family_of(const SocketAddress& address) noexcept {
  return address.family() == AF_INET6 ? abi::Family::kIpv6 : abi::Family::kIpv4;
}

// Keeps the interface of a link-local address.
SocketAddress with_port(SocketAddress address, std::uint16_t port) noexcept {
  if (address.family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address.get())->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(address.get())->sin_port = htons(port);
  }
  return address;
}

int bind_to(const lib::Fd& socket, const SocketAddress& address) noexcept {
  return bind(socket.get(), address.get(), address.size()) == 0 ? 0 : errno;
}

int name_of(const lib::Fd& socket, SocketAddress& out) noexcept {
  socklen_t size = SocketAddress::capacity();
  return getsockname(socket.get(), out.get(), &size) == 0 ? 0 : errno;
}

int connect_to(const lib::Fd& socket, const SocketAddress& address) noexcept {
  if (connect(socket.get(), address.get(), address.size()) == 0) return 0;
  return errno == EINPROGRESS || errno == EINTR ? 0 : errno;
}

void set_on(const lib::Fd& socket, int level, int option) noexcept {
  const int on = 1;
  setsockopt(socket.get(), level, option, &on, sizeof(on));
}

}  // namespace

SharedPorts::SharedPorts(std::uint16_t low, std::uint16_t high, std::uint32_t start) noexcept
    : first_(static_cast<std::uint16_t>(low < high ? low + 1 : low)),
      count_(high > first_ ? (high - first_) / 2U + 1U : 1U),
      index_(start) {}

SharedPorts SharedPorts::of_node(std::uint32_t start) noexcept {
  try {
    const auto text = lib::Sysctl().read("net/ipv4/ip_local_port_range");
    if (text) {
      std::string_view words = *text;
      const auto low = lib::parse_number<std::uint16_t>(lib::take_part(words, '\t'), 1);
      const auto high = lib::parse_number<std::uint16_t>(words, 1);
      if (low && high && *low <= *high) return {*low, *high, start};
    }
  } catch (const std::bad_alloc&) {
  }
  return {kDefaultLow, kDefaultHigh, start};
}

std::uint16_t SharedPorts::next() noexcept {
  index_ = (index_ + 1) % count_;
  return static_cast<std::uint16_t>(first_ + 2 * index_);
}

ClientSockets::ClientSockets(unsigned thread) noexcept
    // Threads begin far from each other, so that they rarely try the same port.
    : ports_(SharedPorts::of_node(thread * 7919U)) {}

ClientSockets::Opened ClientSockets::connect_tcp(const Wanted& wanted, Nanoseconds now) noexcept {
  if (wanted.client_is_here) return connect_from_here(SOCK_STREAM, wanted);
  Opened opened;
  SocketAddress source;
  if ((opened.error = source_towards(wanted.endpoint, wanted.mark, now, source)) != 0) return opened;
  if (foreign_nat_.masquerades({IPPROTO_TCP, wanted.client, wanted.endpoint}, wanted.mark, conntrack_, now)) {
    opened.source = Source::kNode;
    return opened;
  }
  for (int i = 0; i < kTries; ++i) {
    if (!opened.socket) {
      opened.error = open_endpoint_socket(wanted.endpoint.family(), SOCK_STREAM, wanted.mark, opened.socket);
      if (opened.error != 0) return opened;
      set_on(opened.socket, SOL_SOCKET, SO_REUSEADDR);  // sockets to different endpoints share a port
    }
    const SocketAddress local = with_port(source, ports_.next());
    opened.error = bind_to(opened.socket, local);
    if (opened.error == EADDRINUSE) continue;
    if (opened.error != 0) {
      routes_.erase(wanted.endpoint.address());
      break;
    }
    const RelayFlow flow{IPPROTO_TCP, local, wanted.endpoint};
    opened.error = create_entry(flow, wanted.client, !wanted.again);
    if (opened.error == 0) {
      if (wanted.has_data) acknowledge_with_data(opened.socket.get());
      opened.error = connect_to(opened.socket, wanted.endpoint);
      if (opened.error != EADDRNOTAVAIL) {
        opened.source = Source::kClient;
        if (opened.error == 0) {
          opened.entry = local;
          return opened;
        }
      }
      conntrack_.remove(flow);
      if (opened.error != EADDRNOTAVAIL) break;
    } else if (opened.error != EEXIST) {
      break;
    }
    opened.socket.reset();  // it is bound
  }
  opened.socket.reset();
  return opened;
}

ClientSockets::Opened ClientSockets::connect_udp(const Wanted& wanted, Nanoseconds now) noexcept {
  if (wanted.client_is_here) return connect_from_here(SOCK_DGRAM, wanted);
  Opened opened;
  SocketAddress local;
  if ((opened.error = source_towards(wanted.endpoint, wanted.mark, now, local)) != 0) return opened;
  if (foreign_nat_.masquerades({IPPROTO_UDP, wanted.client, wanted.endpoint}, wanted.mark, conntrack_, now)) {
    opened.source = Source::kNode;
    return opened;
  }
  if ((opened.error = open_udp_socket(wanted.endpoint.family(), wanted.mark, opened.socket)) != 0) return opened;
  opened.error = bind_to(opened.socket, with_port(local, 0));
  if (opened.error != 0) routes_.erase(wanted.endpoint.address());
  if (opened.error == 0) opened.error = name_of(opened.socket, local);
  if (opened.error == 0) opened.error = create_entry({IPPROTO_UDP, local, wanted.endpoint}, wanted.client);
  if (opened.error == 0) {
    opened.source = Source::kClient;
    opened.error = connect_to(opened.socket, wanted.endpoint);
    if (opened.error == 0) {
      opened.entry = local;
      return opened;
    }
    conntrack_.remove({IPPROTO_UDP, local, wanted.endpoint});
  }
  opened.socket.reset();
  return opened;
}

// The client is a process of this node: its address can be bound, and needs no translation.
ClientSockets::Opened ClientSockets::connect_from_here(int type, const Wanted& wanted) noexcept {
  Opened opened;
  const abi::Family family = family_of(wanted.client);
  if (netfilter::is_loopback(family, wanted.client.address()) &&
      !netfilter::is_loopback(family, wanted.endpoint.address())) {
    opened.source = Source::kNode;  // no packet leaves the node with such a source
    return opened;
  }
  opened.error = type == SOCK_DGRAM ? open_udp_socket(wanted.endpoint.family(), wanted.mark, opened.socket)
                                    : open_endpoint_socket(wanted.endpoint.family(), type, wanted.mark, opened.socket);
  if (opened.error != 0) return opened;
  set_on(opened.socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT);
  opened.error = bind_to(opened.socket, with_port(wanted.client, 0));
  if (opened.error == 0) {
    opened.source = Source::kClient;
    if (wanted.has_data) acknowledge_with_data(opened.socket.get());
    opened.error = connect_to(opened.socket, wanted.endpoint);
    if (opened.error == 0) {
      if (type == SOCK_DGRAM) remove_earlier_entry(opened.socket, wanted.endpoint);
      return opened;
    }
  }
  opened.socket.reset();
  return opened;
}

// The address of this node that the kernel chooses for packets to the endpoint.
int ClientSockets::source_towards(const SocketAddress& endpoint, std::uint32_t mark, Nanoseconds now,
                                  SocketAddress& out) noexcept {
  try {
    const auto known = routes_.find(endpoint.address());
    if (known != routes_.end() && now < known->second.until) {
      out = known->second.source;
      return 0;
    }
    lib::Fd probe;
    int error = open_endpoint_socket(endpoint.family(), SOCK_DGRAM, mark, probe);
    if (error == 0) error = connect_to(probe, endpoint);
    if (error == 0) error = name_of(probe, out);
    if (error != 0) return error;
    if (routes_.size() >= kMostRoutes) routes_.clear();
    routes_[endpoint.address()] = {out, now + kRouteLifetime};
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// EEXIST: another local port may work.
int ClientSockets::create_entry(const RelayFlow& flow, const SocketAddress& client, bool same_port) noexcept {
  const ShownSource shown_as = same_port ? ShownSource{client, client.port(), client.port()} : any_port_like(client);
  int error = conntrack_.create(flow, shown_as, kEntrySeconds);
  if (error != EEXIST) return error;
  ConntrackEntry other;
  if (conntrack_.find(flow, other) == 0) {
    // A connection that has ended leaves its entry for two minutes, its port for a second.
    if (flow.protocol == IPPROTO_TCP && !other.tcp_ended()) return EEXIST;
    conntrack_.remove(flow);
    error = conntrack_.create(flow, shown_as, kEntrySeconds);
    if (error != EEXIST) return error;
  }
  error = conntrack_.create(flow, any_port_like(client), kEntrySeconds);
  return error == EEXIST ? EADDRINUSE : error;
}

int ClientSockets::renew_udp(const SocketAddress& entry, const SocketAddress& endpoint,
                             const SocketAddress& client) noexcept {
  const RelayFlow flow{IPPROTO_UDP, entry, endpoint};
  const int error = conntrack_.create(flow, {client, client.port(), client.port()}, kEntrySeconds);
  if (error != EEXIST) return error;
  ConntrackEntry present;
  if (conntrack_.find(flow, present) == 0 &&
      std::equal(client.address().bytes, client.address().bytes + 16, present.reply_destination.address().bytes)) {
    return 0;
  }
  return create_entry(flow, client);
}

void ClientSockets::remove_entry(std::uint8_t protocol, const SocketAddress& entry,
                                 const SocketAddress& endpoint) noexcept {
  if (entry.family() != AF_UNSPEC) conntrack_.remove({protocol, entry, endpoint});
}

void ClientSockets::remove_earlier_entry(const lib::Fd& socket, const SocketAddress& endpoint) noexcept {
  SocketAddress local;
  if (name_of(socket, local) == 0) conntrack_.remove({IPPROTO_UDP, local, endpoint});
}

}  // namespace sluice::userspace

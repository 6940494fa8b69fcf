// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/portal/proxy_ports.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>

#include "plugins/userspace/balancer/random.hpp"
#include "plugins/userspace/socket_address.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::userspace {
namespace {

// The kernel limits it to net.core.somaxconn. Connections queue while a thread is busy, and between two processes if
// the service manager keeps the socket.
constexpr int kBacklog = INT_MAX;
// The largest SO_REUSEPORT group of any process.
constexpr unsigned kMostUdpSockets = 16;

// At most this many descriptors are reserved for connections and the daemon, and not used for listening sockets.
constexpr rlim_t kMaxReserved = 4096;

// The kernel assigns the lowest free number, so a new descriptor shows how many are in use.
void reserve_descriptors(int fd) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t kept = std::min(limit.rlim_cur / 4, kMaxReserved);
  if (static_cast<rlim_t>(fd) < limit.rlim_cur - kept) return;
  throw sdk::Failure(abi::Code::kRetry, {},
                     "too many open files for another listening socket: of the " + std::to_string(limit.rlim_cur) +
                         " file descriptors of this process, the last " + std::to_string(kept) +
                         " are reserved for connections; raise its limit (LimitNOFILE)",
                     EMFILE);
}

std::string range_text(const PortRange& range) { return std::to_string(range.low) + "-" + std::to_string(range.high); }

[[noreturn]] void fail(int error, const std::string& what) {
  switch (error) {
    case EMFILE:
      throw sdk::Failure(abi::Code::kRetry, {},
                         what + ": the process has no file descriptors left; raise its limit (LimitNOFILE)", error);
    case ENFILE:
      throw sdk::Failure(abi::Code::kRetry, {}, what + ": the node has no file descriptors left; raise fs.file-max",
                         error);
    case ENOMEM:
    case ENOBUFS:
      throw sdk::Failure(abi::Code::kRetry, {}, what + ": the kernel has no memory for it", error);
    case EADDRNOTAVAIL:
      throw sdk::Failure(abi::Code::kKernel, {}, what + ": not an address of this node; check bindAddress", error);
    default:
      throw sdk::Failure(abi::Code::kKernel, {}, what + ": " + std::strerror(error), error);
  }
}

void set(int fd, int level, int option, const char* name) {
  const int on = 1;
  if (setsockopt(fd, level, option, &on, sizeof(on)) != 0) fail(errno, std::string("set ") + name + " on a proxy port");
}

std::uint16_t port_of(int fd) {
  SocketAddress address;
  socklen_t size = SocketAddress::capacity();
  if (getsockname(fd, address.get(), &size) != 0) fail(errno, "ask for the number of a proxy port");
  return address.port();
}

std::size_t index_of(abi::Protocol protocol) { return protocol == abi::Protocol::kUdp ? 1 : 0; }

}  // namespace

bool is_free_udp_port(abi::Family family, std::uint16_t port) noexcept {
  const bool v6 = family == abi::Family::kIpv6;
  const lib::Fd socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket || (v6 && setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0)) return false;
  const SocketAddress any(family, abi::Address{}, port);
  return bind(socket.get(), any.get(), any.size()) == 0;
}

ProxyPortOpener::ProxyPortOpener(abi::Family family, const std::optional<abi::Address>& listen_address,
                                 const PortRange& range, unsigned udp_sockets, std::uint64_t seed, KeptSockets* kept,
                                 Takeover takeover)
    : family_(family),
      address_(listen_address.value_or(abi::Address{})),
      range_(range),
      udp_sockets_(udp_sockets == 0 ? 1 : udp_sockets),
      kept_(kept),
      takeover_(takeover),
      // Spreads seeds that may be small numbers.
      next_{static_cast<std::uint32_t>(Random(seed).next()), static_cast<std::uint32_t>(Random(seed).next() >> 32)} {}

ProxySockets ProxyPortOpener::open(abi::Protocol protocol, std::uint16_t preferred, const ListenerName& listener) {
  if (kept_ == nullptr) return open_new(protocol, preferred);
  const bool late = protocol == abi::Protocol::kUdp && takeover_ == Takeover::kBesideOldBackend;
  std::optional<ProxySockets> opened;
  if (!late) opened = take(protocol, listener);
  if (!opened) {
    try {
      opened = open_new(protocol, preferred);
    } catch (const sdk::Failure&) {
      if (late) opened = take(protocol, listener);
      if (!opened) throw;
    }
  }
  for (std::size_t i = 0; i < opened->sockets.size(); ++i) {
    opened->names.push_back(kept_name(protocol, listener.local, listener.name, i));
    kept_->keep(opened->names.back(), opened->sockets[i].get());
  }
  return std::move(*opened);
}

// Returns the kept sockets; empty if new ones have to be opened.
std::optional<ProxySockets> ProxyPortOpener::take(abi::Protocol protocol, const ListenerName& listener) const {
  ProxySockets opened;
  const bool udp = protocol == abi::Protocol::kUdp;
  for (unsigned i = 0; i < (udp ? udp_sockets_ : 1); ++i) {
    lib::Fd socket = kept_->take(kept_name(protocol, listener.local, listener.name, i),
                                 {family_, protocol, address_, opened.port, !udp});
    if (!socket) continue;
    opened.port = port_of(socket.get());
    if (!may_use(opened.port)) return std::nullopt;
    opened.sockets.push_back(std::move(socket));
  }
  if (opened.sockets.empty()) return std::nullopt;
  if (!udp) {
    // Sets the backlog of this version.
    if (listen(opened.sockets.front().get(), kBacklog) != 0) return std::nullopt;
    return opened;
  }
  // No thread would read from additional sockets.
  for (unsigned i = udp_sockets_; i < kMostUdpSockets; ++i)
    kept_->drop(kept_name(protocol, listener.local, listener.name, i));
  if (!fill_group(opened)) return std::nullopt;
  return opened;
}

ProxySockets ProxyPortOpener::open_new(abi::Protocol protocol, std::uint16_t preferred) {
  if (preferred != 0 && may_use(preferred)) {
    if (auto opened = try_port(protocol, preferred)) return std::move(*opened);
  }
  if (!range_.any()) return search(protocol);
  if (auto opened = try_port(protocol, 0)) return std::move(*opened);
  throw sdk::Failure(abi::Code::kRetry, {},
                     "the kernel has no free port to listen on; widen net.ipv4.ip_local_port_range", EADDRINUSE);
}

// Continues where the last search ended, so that opening thousands of ports does not retry used ones each time.
ProxySockets ProxyPortOpener::search(abi::Protocol protocol) {
  const std::size_t which = index_of(protocol);
  const std::uint32_t count = range_.high - range_.low + 1u;
  for (std::uint32_t tried = 0; tried < count && !full_[which]; ++tried) {
    const std::uint32_t at = next_[which]++ % count;
    next_[which] %= count;
    if (auto opened = try_port(protocol, static_cast<std::uint16_t>(range_.low + at))) return std::move(*opened);
  }
  full_[which] = true;
  throw sdk::Failure(abi::Code::kRetry, {},
                     "all ports of --proxy-port-range " + range_text(range_) + " are in use; widen it", EADDRINUSE);
}

bool ProxyPortOpener::may_use(std::uint16_t port) const noexcept {
  return range_.any() || (port >= range_.low && port <= range_.high);
}

std::optional<ProxySockets> ProxyPortOpener::try_port(abi::Protocol protocol, std::uint16_t port) const {
  ProxySockets opened;
  const auto take = [&](std::optional<lib::Fd> socket) {
    if (!socket) return false;
    opened.port = port_of(socket->get());
    opened.sockets.push_back(std::move(*socket));
    return true;
  };
  if (protocol == abi::Protocol::kTcp) {
    if (!take(listening_socket(port))) return std::nullopt;
    return opened;
  }
  if (!take(bound(SOCK_DGRAM, port, false)) || !fill_group(opened)) return std::nullopt;
  return opened;
}

// Returns false if no more sockets can join the group.
bool ProxyPortOpener::fill_group(ProxySockets& opened) const {
  // The first socket was bound without SO_REUSEPORT, or it might have joined a foreign group. Set it only now.
  if (udp_sockets_ > 1) set(opened.sockets.front().get(), SOL_SOCKET, SO_REUSEPORT, "SO_REUSEPORT");
  while (opened.sockets.size() < udp_sockets_) {
    std::optional<lib::Fd> socket = bound(SOCK_DGRAM, opened.port, true);
    if (!socket) return false;
    opened.sockets.push_back(std::move(*socket));
  }
  for (const lib::Fd& socket : opened.sockets) {
    // Replies are sent from the address to which the datagram was sent.
    if (family_ == abi::Family::kIpv6) {
      set(socket.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO");
    } else {
      set(socket.get(), IPPROTO_IP, IP_PKTINFO, "IP_PKTINFO");
    }
  }
  return true;
}

std::optional<lib::Fd> ProxyPortOpener::listening_socket(std::uint16_t port) const {
  std::optional<lib::Fd> socket = bound(SOCK_STREAM, port, false);
  if (!socket) return std::nullopt;
  if (listen(socket->get(), kBacklog) == 0) return socket;
  if (errno == EADDRINUSE) return std::nullopt;
  fail(errno, "listen on proxy port " + std::to_string(port));
}

std::optional<lib::Fd> ProxyPortOpener::bound(int type, std::uint16_t port, bool joins) const {
  const int fd = ::socket(sdk::socket_family(family_), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) fail(errno, "open a socket for a proxy port");
  lib::Fd socket(fd);
  reserve_descriptors(fd);
  if (family_ == abi::Family::kIpv6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, "IPV6_V6ONLY");
  if (joins) set(fd, SOL_SOCKET, SO_REUSEPORT, "SO_REUSEPORT");
  // A port requested by number may be that of an earlier process whose connections are in TIME_WAIT. When the kernel
  // chooses, it must choose a port that no socket has in any state.
  const bool reuse = type == SOCK_STREAM && port != 0;
  if (reuse) set(fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR");
  const SocketAddress address(family_, address_, port);
  if (bind(fd, address.get(), address.size()) != 0) {
    if (errno == EADDRINUSE) return std::nullopt;
    fail(errno, "bind " + sdk::host_port(address_, family_, port) + " for a proxy port");
  }
  // For the next process: accepted sockets inherit the option, and it must be set on all of them for a later bind.
  if (type == SOCK_STREAM && !reuse) set(fd, SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR");
  return socket;
}

}  // namespace sluice::userspace

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/ipvs/node_kernels.hpp"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "lib/fd.hpp"
#include "plugins/common/sockets/port_holder.hpp"
#include "plugins/common/sockets/socket_table.hpp"
#include "plugins/ipvs/links/netlink_links.hpp"
#include "plugins/ipvs/node/preparation.hpp"
#include "plugins/ipvs/servers/netlink_servers.hpp"
#include "plugins/ipvs/sets/libipset_sets.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {
namespace {

bool exists(const char* path) { return access(path, F_OK) == 0; }

struct FreeAddresses {
  void operator()(ifaddrs* list) const noexcept { freeifaddrs(list); }
};

std::set<abi::Address> read_local_addresses(abi::Family family) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    const int error = errno;
    throw sdk::Failure(abi::Code::kRetry, "node addresses",
                       "the addresses of this node cannot be read, so virtual servers of node ports are not known",
                       error);
  }
  const std::unique_ptr<ifaddrs, FreeAddresses> owned(list);
  std::set<abi::Address> found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != sdk::socket_family(family)) continue;
    if (std::string_view(one->ifa_name) == kLinkName) continue;
    abi::Address address{};
    if (family == abi::Family::kIpv4) {
      std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else {
      std::memcpy(address.bytes, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, 16);
    }
    found.insert(address);
  }
  return found;
}

void add_connected(const std::string& table, bool mapped, std::set<abi::Address>& found) {
  sockets::each_socket(table, [&](const sockets::Socket& socket) {
    if (socket.state == TCP_LISTEN || socket.state == TCP_CLOSE || socket.state == TCP_TIME_WAIT) return true;
    if (!mapped) {
      found.insert(socket.address);
      return true;
    }
    // ::ffff:10.96.0.1
    constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    if (std::memcmp(socket.address.bytes, kMapped, sizeof(kMapped)) != 0) return true;
    abi::Address address{};
    std::memcpy(address.bytes, socket.address.bytes + sizeof(kMapped), 4);
    found.insert(address);
    return true;
  });
}

std::set<abi::Address> read_connected_addresses(abi::Family family) {
  std::set<abi::Address> found;
  for (const std::string table : {"tcp", "udp"}) {
    if (family == abi::Family::kIpv4) add_connected(table, false, found);
    add_connected(table + "6", family == abi::Family::kIpv4, found);
  }
  return found;
}

// The source of a route to a documentation address. Sends nothing.
std::optional<abi::Address> read_usual_source() {
  const lib::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return std::nullopt;
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(9);
  there.sin_addr.s_addr = htonl(0xC0000201);  // 192.0.2.1
  sockaddr_in here{};
  socklen_t size = sizeof(here);
  const bool known = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)) == 0 &&
                     ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0;
  if (!known) return std::nullopt;
  abi::Address address{};
  std::memcpy(address.bytes, &here.sin_addr, 4);
  return address;
}

}  // namespace

NodeKernels node_kernels(abi::Family family) {
  NodeKernels kernels;
  kernels.rules = std::make_unique<netfilter::NodeKernel>(family);
  kernels.servers = std::make_unique<NetlinkServers>(family);
  kernels.sets = std::make_unique<LibipsetSets>(family);
  kernels.links = std::make_unique<NetlinkLinks>();
  kernels.prepare = [](const Settings& settings, ServerKernel& servers, bool unsupported) {
    return prepare_node(settings, servers, unsupported);
  };
  kernels.has_ipvs = [] { return exists("/proc/thread-self/net/ip_vs"); };
  kernels.has_sets = [] { return exists("/sys/module/ip_set"); };
  kernels.local_addresses = [family] { return read_local_addresses(family); };
  kernels.connections = [family](const ConnectionVisitor& visitor, const MoreTime& more) {
    return visit_connections("/proc/thread-self/net/ip_vs_conn", family, visitor, more);
  };
  kernels.connected_addresses = [family] { return read_connected_addresses(family); };
  kernels.usual_source = read_usual_source;
  kernels.sockets.listeners = [family](abi::Protocol protocol) { return sockets::listeners(family, protocol); };
  kernels.sockets.holder = [family](abi::Protocol protocol, const sockets::Listener& listener) {
    return sockets::find_port_holder(family, protocol, listener.address, listener.port);
  };
  kernels.tracking = [] { return netlink::open_raw_socket(NETLINK_NETFILTER); };
  return kernels;
}

}  // namespace sluice::ipvs

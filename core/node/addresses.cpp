// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/node/addresses.hpp"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/socket.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/node/address_events.hpp"
#include "lib/text.hpp"

namespace sluice::node {
namespace {

struct SocketFree {
  void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
struct CacheFree {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
};
struct LinkPut {
  void operator()(rtnl_link* link) const { rtnl_link_put(link); }
};
using SocketPtr = std::unique_ptr<nl_sock, SocketFree>;
using CachePtr = std::unique_ptr<nl_cache, CacheFree>;
using LinkPtr = std::unique_ptr<rtnl_link, LinkPut>;

lib::Status failure(const char* what, int error) {
  return {lib::StatusCode::kernel, std::string("cannot read the ") + what + " of this node: " + nl_geterror(error)};
}

AddressScope scope_of(int scope) {
  if (scope >= RT_SCOPE_HOST) return AddressScope::host;
  return scope >= RT_SCOPE_LINK ? AddressScope::link : AddressScope::global;
}

std::optional<InterfaceAddress> to_value(rtnl_addr* entry, nl_cache* links) {
  nl_addr* local = rtnl_addr_get_local(entry);
  if (local == nullptr) return std::nullopt;
  const int family = nl_addr_get_family(local);
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  if ((rtnl_addr_get_flags(entry) & IFA_F_DADFAILED) != 0) return std::nullopt;
  InterfaceAddress out;
  out.address = lib::IpAddress::from_bytes(family == AF_INET ? lib::Family::ipv4 : lib::Family::ipv6,
                                           nl_addr_get_binary_addr(local));
  out.prefix_length = rtnl_addr_get_prefixlen(entry);
  out.scope = scope_of(rtnl_addr_get_scope(entry));
  if (const LinkPtr link{rtnl_link_get(links, rtnl_addr_get_ifindex(entry))}) {
    out.loopback_interface = (rtnl_link_get_flags(link.get()) & IFF_LOOPBACK) != 0;
    if (const char* name = rtnl_link_get_name(link.get())) out.interface_name = name;
  } else {
    // It appeared between the two dumps.
    char name[IF_NAMESIZE];
    const auto index = static_cast<unsigned>(rtnl_addr_get_ifindex(entry));
    if (if_indextoname(index, name) != nullptr) out.interface_name = name;
  }
  return out;
}

}  // namespace

lib::Result<std::vector<InterfaceAddress>> read_interface_addresses() {
  const SocketPtr socket(nl_socket_alloc());
  if (!socket) return lib::Status(lib::StatusCode::kernel, "cannot read the addresses of this node: out of memory");
  if (const int error = nl_connect(socket.get(), NETLINK_ROUTE); error < 0) return failure("addresses", error);
  nl_cache* raw = nullptr;
  if (const int error = rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &raw); error < 0) {
    return failure("interfaces", error);
  }
  const CachePtr links(raw);
  if (const int error = rtnl_addr_alloc_cache(socket.get(), &raw); error < 0) return failure("addresses", error);
  const CachePtr addresses(raw);

  std::vector<InterfaceAddress> out;
  for (nl_object* object = nl_cache_get_first(addresses.get()); object != nullptr; object = nl_cache_get_next(object)) {
    if (auto value = to_value(reinterpret_cast<rtnl_addr*>(object), links.get())) out.push_back(std::move(*value));
  }
  std::sort(out.begin(), out.end());
  return out;
}

lib::Result<std::vector<InterfaceAddress>> read_node_addresses() {
  auto out = read_interface_addresses();
  if (out) std::erase_if(*out, [](const InterfaceAddress& entry) { return entry.interface_name == kServiceLink; });
  return out;
}

std::vector<lib::IpAddress> local_addresses(const std::vector<InterfaceAddress>& all, lib::Family family) {
  std::vector<lib::IpAddress> out;
  for (const InterfaceAddress& entry : all) {
    if (entry.address.family() == family && !entry.address.is_loopback()) out.push_back(entry.address);
  }
  lib::sort_unique(out);
  return out;
}

}  // namespace sluice::node

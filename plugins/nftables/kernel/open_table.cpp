// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "lib/mutex.hpp"
#include "plugins/nftables/kernel/netlink_table.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_watch.hpp"
#include "sluice/sdk/address.hpp"

namespace sluice::nftables {
namespace {

// Shared by all tables of this process while one exists: both families are filtered out of all notifications.
std::shared_ptr<OwnSenders> shared_senders() {
  static constinit lib::Mutex mutex;
  static constinit std::weak_ptr<OwnSenders> known SLUICE_GUARDED_BY(mutex);
  const lib::Lock lock(mutex);
  std::shared_ptr<OwnSenders> own = known.lock();
  if (!own) known = own = std::make_shared<OwnSenders>();
  return own;
}

// Empty if the kernel refuses: the interfaces are read again with the next drift check.
std::vector<std::string> node_interfaces() {
  std::vector<std::string> names;
  const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> all(if_nameindex(), &if_freenameindex);
  if (!all) return names;
  for (const struct if_nameindex* one = all.get(); one->if_index != 0; ++one) names.emplace_back(one->if_name);
  return names;
}

// Empty if the kernel refuses.
std::vector<abi::Address> node_addresses(abi::Family family) {
  std::vector<abi::Address> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != sdk::socket_family(family)) continue;
    const void* const bytes = family == abi::Family::kIpv6
                                  ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr)
                                  : &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    std::memcpy(found.emplace_back().bytes, bytes, sdk::address_bytes(family));
  }
  return found;
}

}  // namespace

Table open_table(abi::Family family) {
  const std::shared_ptr<OwnSenders> own = shared_senders();
  const netlink::OpenRawSocket open = [] { return netlink::open_raw_socket(NETLINK_NETFILTER); };
  return {.kernel = std::make_unique<NetlinkTable>(family, open, own),
          .watch = std::make_unique<NetlinkWatch>(family, open, own),
          .interfaces = &node_interfaces,
          .addresses = [family] { return node_addresses(family); }};
}

}  // namespace sluice::nftables

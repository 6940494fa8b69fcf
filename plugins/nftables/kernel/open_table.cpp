// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <linux/netlink.h>
#include <net/if.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/mutex.hpp"
#include "plugins/nftables/kernel/netlink_table.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "plugins/nftables/kernel/table_watch.hpp"

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

}  // namespace

Table open_table(abi::Family family) {
  const std::shared_ptr<OwnSenders> own = shared_senders();
  const netlink::OpenRawSocket open = [] { return netlink::open_raw_socket(NETLINK_NETFILTER); };
  return {std::make_unique<NetlinkTable>(family, open, own), std::make_unique<NetlinkWatch>(family, open, own), &node_interfaces};
}

}  // namespace sluice::nftables

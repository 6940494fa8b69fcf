// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <linux/netlink.h>

#include <memory>

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

}  // namespace

Table open_table(abi::Family family) {
  const std::shared_ptr<OwnSenders> own = shared_senders();
  const netlink::OpenRawSocket open = [] { return netlink::open_raw_socket(NETLINK_NETFILTER); };
  return {std::make_unique<NetlinkTable>(family, open, own), std::make_unique<NetlinkWatch>(family, open, own)};
}

}  // namespace sluice::nftables

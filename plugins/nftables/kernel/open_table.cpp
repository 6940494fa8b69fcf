// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include <linux/netlink.h>

#include <memory>

#include "plugins/nftables/kernel/netlink_table.hpp"
#include "plugins/nftables/kernel/own_sender.hpp"
#include "plugins/nftables/kernel/table_watch.hpp"

namespace sluice::nftables {

Table open_table(abi::Family family) {
  const auto own = std::make_shared<OwnSender>();
  const netlink::OpenWire open = [] { return netlink::open_kernel(NETLINK_NETFILTER); };
  return {std::make_unique<NetlinkTable>(family, open, own), std::make_unique<NetlinkWatch>(family, open, own)};
}

}  // namespace sluice::nftables

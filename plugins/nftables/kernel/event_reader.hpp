// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Decodes notifications of nf_tables: whether another process changed our table, what it changed, and its name. One
// thread.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/nftables/kernel/own_senders.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

class EventReader {
 public:
  // `own` outlives this.
  EventReader(abi::Family family, const OwnSenders& own);

  // Takes any bytes. A message that is cut off counts as a change.
  void read(std::string_view datagram);
  void lost();                       // notifications were lost
  void missed();                     // the kernel did not notify while another process may have written
  void listening_failed(int error);  // the kernel refuses to send notifications

  // Whether a chain of any table of this family was added or removed. take() does not reset it.
  bool chains_changed() const noexcept { return chains_changed_; }
  // The last generation received; 0: none.
  std::uint32_t generation() const noexcept { return generation_; }
  bool changed() const noexcept { return changes_ != 0; }
  // Whether the process of the change is known. The kernel sends it last, or not at all.
  bool complete() const noexcept { return complete_; }
  // "table ip kube-proxy: chain services was removed by nft (pid 123)". Resets the change. REQUIRES: changed().
  std::string take();
  void forget() noexcept;

 private:
  void take(const nlmsghdr* message);
  void add(std::uint32_t port_id, std::string what);

  std::uint8_t family_;
  const OwnSenders& own_;
  std::string table_;
  std::size_t changes_ = 0;
  std::string first_;
  std::string process_;
  std::uint32_t port_id_ = 0;  // port ID (nlmsg_pid) of the first change
  bool complete_ = false;
  std::uint32_t generation_ = 0;
  bool chains_changed_ = false;
};

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Notifications of nf_tables decoded: whether somebody else changed our table, what of it, and who. One thread.
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

  // Any bytes. What is behind a message that is cut off is left out, and counts as a change.
  void read(std::string_view datagram);
  void lost();    // notifications were
  void missed();  // nobody listened while somebody wrote
  void deaf(int error);  // nobody can listen

  // A chain came or went, in whatever table of this family. Not begun anew.
  bool chains_moved() const noexcept { return chains_moved_; }
  // The last one that was told; 0: none.
  std::uint32_t generation() const noexcept { return generation_; }
  bool changed() const noexcept { return changes_ != 0; }
  // All of it is known: who did it has been told, which comes last. It may never come.
  bool complete() const noexcept { return complete_; }
  // "table ip kube-proxy: chain services was removed by nft (pid 123)". REQUIRES: changed(). Begins anew.
  std::string take();
  void forget() noexcept;

 private:
  void take(const nlmsghdr* message);
  void add(std::uint32_t port, std::string what);

  std::uint8_t family_;
  const OwnSenders& own_;
  const char* table_;
  std::size_t changes_ = 0;
  std::string first_;
  std::string who_;
  std::uint32_t port_ = 0;  // of who made the first change
  bool complete_ = false;
  std::uint32_t generation_ = 0;
  bool chains_moved_ = false;
};

}  // namespace sluice::nftables

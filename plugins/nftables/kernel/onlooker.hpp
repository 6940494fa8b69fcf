// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Knows whether our table stayed as it was while it was read, however often others changed tables of theirs. Makes the kernel
// tell of each of their transactions as long as it lives. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/common/netlink/wire.hpp"
#include "plugins/nftables/kernel/event_reader.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

class Onlooker {
 public:
  // Looks from now on. Throws sdk::Failure.
  Onlooker(abi::Family family, const netlink::OpenWire& open, std::chrono::milliseconds patience);
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  // Takes what has been told. True: somebody touched our table, or it is not known. To be called often while others write, lest
  // notifications are lost.
  bool look();
  // REQUIRES: nf_tables is of this generation, or of a later one. Waits until all up to it has been told. False: somebody touched
  // our table, or it is not known.
  bool untouched(std::uint32_t generation);
  // A chain of any table of this family came or went. REQUIRES: untouched() was true.
  bool chains_moved() const noexcept { return events_.chains_moved(); }
  // What somebody did. REQUIRES: look() was true or untouched() false.
  std::string take();

 private:
  // The next notifications. False: none came in time.
  bool receive(std::chrono::milliseconds patience);

  std::chrono::milliseconds patience_;
  const OwnSenders nobody_;  // nothing of ours is left out: we do not write while we read
  EventReader events_;
  std::unique_ptr<netlink::Wire> wire_;
  std::vector<char> buffer_;
};

}  // namespace sluice::nftables

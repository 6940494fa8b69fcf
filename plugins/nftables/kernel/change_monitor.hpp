// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Finds out whether our table changed while it was read, however often other processes write to other tables. The
// kernel sends notifications of all transactions during its lifetime. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/common/netlink/socket.hpp"
#include "plugins/nftables/kernel/event_reader.hpp"
#include "plugins/nftables/kernel/own_senders.hpp"
#include "sluice/abi/types.hpp"

namespace sluice::nftables {

class ChangeMonitor {
 public:
  // Starts to listen. Throws sdk::Failure.
  ChangeMonitor(abi::Family family, const netlink::OpenRawSocket& open, std::chrono::milliseconds timeout);
  ChangeMonitor(const ChangeMonitor&) = delete;
  ChangeMonitor& operator=(const ChangeMonitor&) = delete;

  // Reads pending notifications. Returns true if another process changed our table, or if that is unknown. Must be
  // called often while other processes write, as notifications are lost otherwise.
  bool poll();
  // Waits for the notifications of all transactions up to `generation`. Returns false if another process changed our
  // table, or if that is unknown. REQUIRES: nf_tables has reached that generation.
  bool untouched(std::uint32_t generation);
  // Whether a chain of any table of this family was added or removed. REQUIRES: untouched() was true.
  bool chains_changed() const noexcept { return events_.chains_changed(); }
  // Describes the change. REQUIRES: poll() was true or untouched() false.
  std::string take();

 private:
  // Reads one datagram. Returns false if none came in time.
  bool receive(std::chrono::milliseconds timeout);

  std::chrono::milliseconds timeout_;
  const OwnSenders no_senders_;  // empty: the daemon does not write while it reads
  EventReader events_;
  std::unique_ptr<lib::netlink::RawSocket> socket_;
  std::vector<char> buffer_;
};

}  // namespace sluice::nftables

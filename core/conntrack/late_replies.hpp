// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Replies that arrive after the daemon removed the untranslated conntrack entry of a UDP client. A host outside the
// cluster may have served the address before the Service had endpoints. Its late reply creates an entry in the opposite
// direction. The client's next packets match that entry as replies and bypass every NAT rule until it times out.
// No I/O; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "core/conntrack/flow.hpp"
#include "lib/clock.hpp"

namespace sluice::conntrack {

class LateReplies {
 public:
  // Clients that are tracked at a time, some 100 bytes each. Further ones are ignored.
  static constexpr std::size_t kMost = 4096;

  // The daemon removes this untranslated entry now.
  void note(const Flow& flow, lib::Clock::Time now);
  // Whether a late reply created this entry.
  bool created(const Flow& flow) const;
  // When the next scan of all entries is due; nothing if there is no client to check.
  std::optional<lib::Clock::Time> next_scan() const;
  // A scan that began at `begun` has read all entries.
  void scanned(lib::Clock::Time begun);

 private:
  using Pair = std::pair<lib::SocketAddress, lib::SocketAddress>;
  std::map<Pair, lib::Clock::Time> removed_;  // client and destination; when
  lib::Clock::Time since_;                    // start of the series of scans
  std::size_t scans_ = 0;                      // scans of the series that are done
};

}  // namespace sluice::conntrack

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The table is read while the daemon still asks for Services: at a start that takes as long as everything else together.
#pragma once

#include <optional>
#include <thread>

#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

class EarlyListing {
 public:
  // `kernel` outlives this.
  explicit EarlyListing(TableKernel& kernel) : kernel_(kernel) {}
  ~EarlyListing() { forget(); }
  EarlyListing(const EarlyListing&) = delete;
  EarlyListing& operator=(const EarlyListing&) = delete;

  // Begins to list, on a thread of its own. Nobody uses `kernel` until wait(), take() or forget(). Without a thread nothing happens.
  void start();
  // Waits until `kernel` may be used again.
  void wait() noexcept;
  // Waits for it. Empty when it was not begun, when it failed, and when anybody has written anything since.
  std::optional<Listing> take();
  // Waits for it, and gives it up.
  void forget() noexcept;

 private:
  TableKernel& kernel_;
  std::thread thread_;
  std::optional<Listing> listing_;  // the thread's until it is joined
};

}  // namespace sluice::nftables

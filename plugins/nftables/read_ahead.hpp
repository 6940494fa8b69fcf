// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists the table in the background while the daemon still lists Services: at start, the listing takes as long as all
// other work together.
#pragma once

#include <optional>
#include <thread>

#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

class ReadAhead {
 public:
  // `kernel` outlives this.
  explicit ReadAhead(TableKernel& kernel) : kernel_(kernel) {}
  ~ReadAhead() { forget(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Starts a listing on a thread of its own. `kernel` must not be used until wait(), take() or forget(). Does nothing
  // if no thread can be started.
  void start();
  // Waits until `kernel` may be used again.
  void wait() noexcept;
  // Waits for the listing. Empty if none was started, if it failed, or if nf_tables has changed since.
  std::optional<Listing> take();
  // Waits for the listing and discards it.
  void forget() noexcept;

 private:
  TableKernel& kernel_;
  std::thread thread_;
  std::optional<Listing> listing_;  // owned by the thread until it is joined
};

}  // namespace sluice::nftables

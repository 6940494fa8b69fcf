// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Lists the table in the background: at start while the daemon still lists Services, as the listing takes longer than a
// first write; and later, to check a listing that an earlier process saved.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "plugins/nftables/kernel/table_kernel.hpp"
#include "plugins/nftables/listing_file.hpp"

namespace sluice::nftables {

class ReadAhead {
 public:
  // Both outlive this.
  ReadAhead(TableKernel& kernel, const ListingFile& file) : kernel_(kernel), file_(file) {}
  ~ReadAhead() { forget(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Starts a listing on a thread of its own: the saved one if it is still valid, otherwise from the kernel. `kernel`
  // must not be used until wait(), take() or forget(). Does nothing if no thread can be started.
  void start();
  // The same for a check: compares a listing from the kernel with `wanted`, and reports the first difference. `report`
  // is called on the thread, and outlives this.
  void check(Listing wanted, std::function<void(const std::string& difference)> report);
  // Whether the last check has found no difference.
  bool checked() const noexcept { return checked_; }
  // Waits until `kernel` may be used again.
  void wait() noexcept;
  // Waits for the listing. Empty if none was started, if it failed, or if nf_tables has changed since.
  std::optional<Listing> take();
  // Waits for the listing and discards it.
  void forget() noexcept;

 private:
  // Failures are ignored: the next listing meets the same one and reports it.
  void run(std::function<void()> body);

  TableKernel& kernel_;
  const ListingFile& file_;
  std::thread thread_;
  std::optional<Listing> listing_;  // owned by the thread until it is joined
  std::atomic<bool> checked_{false};
};

}  // namespace sluice::nftables

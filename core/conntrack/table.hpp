// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The conntrack table of the kernel, through netlink, behind an interface that tests fake. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "core/conntrack/flow.hpp"
#include "lib/status.hpp"

namespace sluice::conntrack {

class ConntrackTable {
 public:
  // Returning false ends the dump.
  using Visitor = std::function<bool(const Flow&)>;
  virtual ~ConntrackTable() = default;

  // Passes the UDP flows of zone 0 that match, and perhaps more, to the visitor. Flows may come and go, and remove()
  // may be called, meanwhile. A status with os_errno() EINTR: the table changed, so the dump may have missed flows.
  virtual lib::Status dump(lib::Family family, const FlowQuery& query, const Visitor& visitor) = 0;

  // The narrowest query that this table supports and that includes `query`. One dump is enough for all queries with
  // the same result.
  virtual FlowQuery supported_query(lib::Family family, const FlowQuery& query) const = 0;

  // Whether one dump of all flows costs less than this number of dumps with filters.
  virtual bool is_full_dump_cheaper(lib::Family family, std::size_t filtered_dumps) const = 0;

  // Removes these entries; returns the number that still existed.
  virtual lib::Result<std::size_t> remove(lib::Family family, std::span<const Flow> flows) = 0;
};

class KernelConntrackTable final : public ConntrackTable {
 public:
  // A filtered dump that matches nothing walks the whole table within one system call, in which that processor handles
  // no packets and runs no other thread: 0.4 µs per entry. A larger table is read without a filter, in thousands of
  // short calls, which takes longer but blocks no other thread (docs/decisions/0018).
  static constexpr std::uint64_t kMostFiltered = 32768;
  // Each dump walks all buckets, which all network namespaces share: 0.033 µs for an empty one. Copying and checking an
  // entry takes 1.8 µs, as long as 56 buckets (docs/decisions/0018).
  static constexpr std::uint64_t kBucketsPerEntry = 64;

  explicit KernelConntrackTable(std::uint64_t most_filtered = kMostFiltered,
                                std::uint64_t buckets_per_entry = kBucketsPerEntry)
      : most_filtered_(most_filtered), buckets_per_entry_(buckets_per_entry) {}
  lib::Status dump(lib::Family family, const FlowQuery& query, const Visitor& visitor) override;
  FlowQuery supported_query(lib::Family family, const FlowQuery& query) const override;
  // Compares one walk plus the copies with `filtered_dumps` walks. A dump of all flows copies about as many entries as
  // the last one did, and at most those of this network namespace. False if the kernel does not report the numbers.
  bool is_full_dump_cheaper(lib::Family family, std::size_t filtered_dumps) const override;
  lib::Result<std::size_t> remove(lib::Family family, std::span<const Flow> flows) override;

 private:
  bool filtering() const;

  const std::uint64_t most_filtered_;
  const std::uint64_t buckets_per_entry_;
  // By family: the number of flows in the last full dump.
  std::array<std::uint64_t, 2> flows_of_full_dump_{UINT64_MAX, UINT64_MAX};
  // Whether the kernel supports filters: false after a dump that ignored the filter (kernels before 5.8) or refused it.
  bool supports_filters_ = true;
};

}  // namespace sluice::conntrack

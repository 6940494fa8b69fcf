// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel's table of tracked flows, by netlink. An interface, so that the decisions
// above it are tested against a table made up. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/status.hpp"
#include "core/conntrack/flow.hpp"

namespace sluice::conntrack {

class ConntrackTable {
 public:
  // False ends the visit.
  using Visitor = std::function<bool(const Flow&)>;
  virtual ~ConntrackTable() = default;

  // Shows the UDP flows of zone 0 that fit, and perhaps others. Flows may come and go, and
  // remove() may be called, meanwhile. A status with os_errno() EINTR: the table changed
  // under the visit, and flows may have been passed over.
  virtual base::Status visit(base::Family family, const FlowQuery& query, const Visitor& visitor) = 0;

  // The narrowest question this table can answer rightly that includes the query: one
  // visit for several queries is enough when that is the same.
  virtual FlowQuery askable(base::Family family, const FlowQuery& query) const = 0;

  // Whether one visit of all flows costs less than this number of visits with filters.
  virtual bool is_whole_cheaper(base::Family family, std::size_t visits) const = 0;

  // Removes exactly these entries; returns how many were still there.
  virtual base::Result<std::size_t> remove(base::Family family, std::span<const Flow> flows) = 0;
};

class KernelConntrackTable final : public ConntrackTable {
 public:
  // The kernel walks its whole table for a filtered look that finds nothing, within one system call in which that
  // processor handles no packets and runs no other thread: 0.4 µs an entry. A larger table than this is read whole,
  // in thousands of short calls, which takes more time but holds nobody up (docs/decisions/0018).
  static constexpr std::uint64_t kMostFiltered = 32768;
  // Each dump walks all buckets, which all namespaces share: 0.033 µs for an empty one. To copy an entry and judge it
  // takes 1.8 µs, as long as 56 buckets (docs/decisions/0018).
  static constexpr std::uint64_t kBucketsPerEntry = 64;

  explicit KernelConntrackTable(std::uint64_t most_filtered = kMostFiltered,
                                std::uint64_t buckets_per_entry = kBucketsPerEntry)
      : most_filtered_(most_filtered), buckets_per_entry_(buckets_per_entry) {}
  base::Status visit(base::Family family, const FlowQuery& query, const Visitor& visitor) override;
  FlowQuery askable(base::Family family, const FlowQuery& query) const override;
  // One walk and the copies against so many walks. A visit of all flows copies about as many entries as the last one
  // did, and at most those of this network namespace. False if the kernel does not report numbers.
  bool is_whole_cheaper(base::Family family, std::size_t visits) const override;
  base::Result<std::size_t> remove(base::Family family, std::span<const Flow> flows) override;

 private:
  bool filtering() const;

  const std::uint64_t most_filtered_;
  const std::uint64_t buckets_per_entry_;
  std::array<std::uint64_t, 2> shown_{UINT64_MAX, UINT64_MAX};  // by family: by the last visit of all flows
  // Kernels before 5.8 know no filter and show everything.
  bool filters_ = true;
  std::uint32_t sequence_ = 0;
};

}  // namespace sluice::conntrack

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the interfaces of the flowtable equal to those of the node that the setting offloadInterfaces selects. Docs:
// docs/decisions/0050-flowtable.md. The apply thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "plugins/nftables/kernel/table_kernel.hpp"

namespace sluice::nftables {

class OffloadInterfaces {
 public:
  // Interfaces per transaction; the kernel accepts fewer than 256 in one message.
  static constexpr std::size_t kChunk = 100;

  // `patterns` are names, or prefixes followed by *; `kernel` outlives this; `list` returns the names of all
  // interfaces, or nothing if they are not known.
  OffloadInterfaces(std::vector<std::string> patterns, TableKernel& kernel,
                    std::function<std::vector<std::string>()> list);

  struct Difference {
    bool exists = false;      // the flowtable
    std::size_t present = 0;  // interfaces that it has
    // Sorted; empty if the interfaces of the node are not known.
    std::vector<std::string> missing;
    std::vector<std::string> extra;
  };
  // Reads both. Throws sdk::Failure.
  Difference compare() const;

  struct Result {
    std::size_t count = 0;  // interfaces that the flowtable has now
    std::string problem;    // why the kernel refused one; empty if it refused none
  };
  // Reads both and writes the difference: nothing if there is none, or if the flowtable does not exist. Interfaces that
  // disappear meanwhile are no problem. Throws sdk::Failure.
  Result reconcile();

 private:
  bool selects(const std::string& interface) const;
  // Adds or removes them. Returns the number of interfaces that were written.
  std::size_t write(const std::vector<std::string>& interfaces, std::vector<std::string> Batch::* where, std::string& problem);

  std::vector<std::string> patterns_;
  TableKernel& kernel_;
  std::function<std::vector<std::string>()> list_;
};

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Access to the kernel's ipsets; tests replace it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {

// A set without its entries.
struct SetHeader {
  std::string type;              // "hash:ip,port"
  abi::Family family{};          // of hash types
  std::uint32_t maxelem = 0;     // 0 for bitmaps
  std::uint64_t entries = 0;
};

// An entry that the kernel rejects as an element of the set.
struct RefusedEntry {
  SetEntry entry;
  std::string why;  // a sentence that names the entry and the set
};

class SetKernel {
 public:
  virtual ~SetKernel() = default;
  // All throw sdk::Failure: kDenied without privilege, kUnsupported if the kernel lacks ipset or this type (names the
  // module), kRetry for shortages, kKernel otherwise.

  // Empty if the set does not exist. One round trip if the kernel reports the number of entries; see has_counts().
  virtual std::optional<SetHeader> header(const std::string& name) = 0;
  // False if the kernel does not report the number of entries (before 4.17).
  virtual bool has_counts() = 0;
  // Entries in no order. One dump.
  virtual std::vector<SetEntry> entries(const std::string& name, SetType type) = 0;
  virtual void create(const std::string& name, SetType type, std::uint32_t maxelem) = 0;
  // Batched into few messages. Existing entries may be added and missing ones removed. add() returns entries that are
  // not elements of this type; all others are in place. Any other error throws; some entries are in place then.
  [[nodiscard]] virtual std::vector<RefusedEntry> add(const std::string& name, SetType type,
                                                      const std::vector<SetEntry>& entries) = 0;
  virtual void remove(const std::string& name, SetType type, const std::vector<SetEntry>& entries) = 0;
  virtual void swap(const std::string& one, const std::string& other) = 0;
  // A missing set is accepted. False: a rule or another set still uses it.
  virtual bool destroy(const std::string& name) = 0;
  // Messages that change something, since construction.
  virtual std::uint64_t messages() const = 0;
  // Nanoseconds spent waiting for the library lock, since construction.
  virtual std::uint64_t waited() const = 0;
};

}  // namespace sluice::ipvs

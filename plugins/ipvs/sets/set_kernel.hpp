// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The one seam between this backend and the kernel's ipsets; tests replace it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/ipvs/sets/set_spec.hpp"
#include "sluice/sdk/error.hpp"

namespace sluice::ipvs {

// What a set is, without its entries.
struct SetHeader {
  std::string type;              // "hash:ip,port"
  abi::Family family{};          // of hash types
  std::uint32_t most = 0;        // maxelem; 0 for bitmaps
  std::uint64_t entries = 0;
};

// One the kernel does not take as an element of any such set.
struct RefusedEntry {
  SetEntry entry;
  std::string why;  // a sentence that names it and the set
};

class SetKernel {
 public:
  virtual ~SetKernel() = default;
  // All throw sdk::Failure: kDenied without privilege, kUnsupported when the kernel has no ipset
  // or not this type (naming the module), kRetry for shortages, kKernel otherwise.

  // Empty when there is no such set. One round trip, whatever the size, where the kernel tells the
  // number of entries; see has_counts().
  virtual std::optional<SetHeader> header(const std::string& name) = 0;
  // False when the kernel's headers do not tell how many entries there are (before 4.17).
  virtual bool has_counts() = 0;
  // Entries in no order. One dump.
  virtual std::vector<SetEntry> entries(const std::string& name, SetType type) = 0;
  virtual void create(const std::string& name, SetType type, std::uint32_t most) = 0;
  // Aggregated into few messages. Adding what is there and removing what is not is fine. Entries that are no elements
  // are returned, all others being in place; anything else that is refused throws, some of the entries being in place
  // then.
  [[nodiscard]] virtual std::vector<RefusedEntry> add(const std::string& name, SetType type,
                                                      const std::vector<SetEntry>& entries) = 0;
  virtual void remove(const std::string& name, SetType type, const std::vector<SetEntry>& entries) = 0;
  virtual void swap(const std::string& one, const std::string& other) = 0;
  // What does not exist is fine. False when a rule or another set still uses it.
  virtual bool destroy(const std::string& name) = 0;
  // Messages that changed something, since the object was made.
  virtual std::uint64_t messages() const = 0;
  // Nanoseconds of waiting until nobody else had it, since the object was made.
  virtual std::uint64_t waited() const = 0;
};

}  // namespace sluice::ipvs

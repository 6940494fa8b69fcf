// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reference counts of elements that several service ports share. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/nftables/elements.hpp"
#include "plugins/nftables/model/flat_index.hpp"

namespace sluice::nftables {

// Elements of cluster-ips and hairpin-connections.
class CountedElements {
 public:
  // Returns true for the first user.
  bool add(const Record& record);
  // Returns true for the last user. REQUIRES: a preceding add().
  bool remove(const Record& record);
  std::size_t size() const noexcept { return index_.size(); }

 private:
  // In both sets the key starts with the address; hairpins end with protocol and port. Smaller than a key.
  struct Entry {
    EndpointAddress endpoint;
    std::uint8_t protocol = 0;  // 0: a cluster IP
    std::uint32_t users = 0;
  };
  static Entry entry_of(const Record& record);
  static std::uint64_t hash(const Entry& entry);
  static bool same(const Entry& a, const Entry& b) { return a.protocol == b.protocol && a.endpoint == b.endpoint; }

  FlatIndex index_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Elements that several service ports want: how many do. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugins/nftables/model/flat_index.hpp"
#include "plugins/nftables/values.hpp"

namespace sluice::nftables {

// Of cluster-ips and hairpin-connections.
class CountedElements {
 public:
  // True for the first that wants it.
  bool add(const Record& record);
  // True for the last. REQUIRES: was added.
  bool remove(const Record& record);
  std::size_t size() const noexcept { return index_.size(); }

 private:
  // Key bytes begin with the address in both sets; hairpins have protocol and port at the end. In one word less than a key.
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

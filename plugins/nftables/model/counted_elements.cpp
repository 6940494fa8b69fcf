// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/counted_elements.hpp"

#include <cstring>

namespace sluice::nftables {

CountedElements::Entry CountedElements::entry_of(const Record& record) {
  Entry entry;
  if (record.set == SetId::kClusterIps) {
    std::memcpy(entry.endpoint.address.bytes, record.key.data(), record.key.size());
    return entry;
  }
  // address . address . protocol . port, each padded to words
  const std::size_t address = (record.key.size() - 8) / 2;
  const std::uint8_t* rest = record.key.data() + 2 * address;
  std::memcpy(entry.endpoint.address.bytes, record.key.data(), address);
  entry.protocol = rest[0];
  entry.endpoint.port = static_cast<std::uint16_t>(rest[4] << 8 | rest[5]);
  return entry;
}

std::uint64_t CountedElements::hash(const Entry& entry) {
  const std::uint64_t seed = std::uint64_t{entry.protocol} << 16 | entry.endpoint.port;
  return hash_bytes(entry.endpoint.address.bytes, sizeof(entry.endpoint.address.bytes), seed);
}

bool CountedElements::add(const Record& record) {
  Entry entry = entry_of(record);
  const auto found = index_.find(hash(entry), [&](std::uint32_t place) { return same(entries_[place], entry); });
  if (found) {
    ++entries_[*found].users;
    return false;
  }
  entry.users = 1;
  std::uint32_t place = 0;
  if (free_.empty()) {
    place = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(entry);
  } else {
    place = free_.back();
    free_.pop_back();
    entries_[place] = entry;
  }
  index_.insert(hash(entry), place);
  return true;
}

bool CountedElements::remove(const Record& record) {
  const Entry entry = entry_of(record);
  const auto found = index_.find(hash(entry), [&](std::uint32_t place) { return same(entries_[place], entry); });
  if (--entries_[*found].users != 0) return false;
  index_.erase(hash(entry), *found);
  free_.push_back(*found);
  return true;
}

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/model/affinity.hpp"

#include <algorithm>
#include <utility>

namespace sluice::nftables {
namespace {

std::uint32_t number_of(std::uint32_t id) { return id >> 16; }

}  // namespace

bool AffinityIds::is_free(std::uint32_t id) const {
  const std::uint32_t number = number_of(id);
  if ((id & ~kAffinityIdMask) != 0 || number == 0 || number > most_) return false;
  return number >= taken_.size() || !taken_[number];
}

void AffinityIds::take(std::uint32_t id) {
  const std::uint32_t number = number_of(id);
  if (taken_.size() <= number) taken_.resize(number + 1);
  taken_[number] = true;
  ++used_;
  if (is_reserved(number)) --unclaimed_;
}

std::uint32_t AffinityIds::take_new() {
  for (std::uint32_t tries = 0;; ++tries) {
    last_ = last_ % most_ + 1;
    const bool has_to_wait = is_reserved(last_) && tries < most_;
    if (!has_to_wait && is_free(last_ << 16)) break;
  }
  take(last_ << 16);
  return last_ << 16;
}

void AffinityIds::give_back(std::uint32_t id) {
  taken_[number_of(id)] = false;
  --used_;
  if (is_reserved(number_of(id))) ++unclaimed_;
}

void AffinityIds::reserve(const std::vector<std::uint32_t>& ids) {
  reserved_.clear();
  reserving_ = true;
  unclaimed_ = 0;
  for (const std::uint32_t id : ids) {
    const std::uint32_t number = number_of(id);
    if (!is_free(id) || is_reserved(number)) continue;
    if (reserved_.size() <= number) reserved_.resize(number + 1);
    reserved_[number] = true;
    ++unclaimed_;
  }
}

void AffinityTokens::restore(const std::vector<Entry>& listed) {
  entries_.clear();
  std::vector<bool> taken(kMaxAffinityNumber + 1);
  for (const Entry& entry : listed) {
    if (entry.number == 0 || taken[entry.number]) continue;
    taken[entry.number] = true;
    last_ = std::max(last_, entry.number);
    entries_.push_back(entry);
  }
  const auto before = [](const Entry& a, const Entry& b) { return a.endpoint < b.endpoint; };
  std::stable_sort(entries_.begin(), entries_.end(), before);
  const auto same = [](const Entry& a, const Entry& b) { return a.endpoint == b.endpoint; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
}

void AffinityTokens::assign(const std::vector<EndpointAddress>& endpoints) {
  std::vector<Entry> next;
  next.reserve(endpoints.size());
  std::size_t known = 0;
  bool any_new = false;
  for (const EndpointAddress& endpoint : endpoints) {
    while (known < entries_.size() && entries_[known].endpoint < endpoint) ++known;
    const bool stays = known < entries_.size() && entries_[known].endpoint == endpoint;
    any_new = any_new || !stays;
    next.push_back({endpoint, stays ? entries_[known].number : std::uint16_t{0}});
  }
  if (any_new) {
    std::vector<bool> taken(kMaxAffinityNumber + 1);
    for (const Entry& entry : next) taken[entry.number] = true;
    for (Entry& entry : next) {
      if (entry.number != 0) continue;
      do {
        last_ = static_cast<std::uint16_t>(last_ % kMaxAffinityNumber + 1);
      } while (taken[last_]);
      taken[last_] = true;
      entry.number = last_;
    }
  }
  entries_ = std::move(next);
}

std::uint16_t AffinityTokens::number(const EndpointAddress& endpoint) const {
  const auto before = [](const Entry& entry, const EndpointAddress& wanted) { return entry.endpoint < wanted; };
  return std::lower_bound(entries_.begin(), entries_.end(), endpoint, before)->number;
}

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/relay/udp_client_table.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace sluice::userspace {
namespace {

constexpr std::size_t kFirstBuckets = 64;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

bool UdpClientKey::operator==(const UdpClientKey& other) const noexcept {
  return std::memcmp(this, &other, sizeof(*this)) == 0;
}

const EndpointPtr& UdpClientTable::Entry::endpoint() const noexcept { return group_->endpoint; }

UdpClientTable::UdpClientTable(std::size_t max_clients, Nanoseconds timeout, std::uint64_t seed)
    : max_clients_(max_clients == 0 ? 1 : max_clients), limit_(max_clients_), timeout_(timeout), seed_(seed), buckets_(kFirstBuckets) {}

UdpClientTable::~UdpClientTable() = default;

std::uint64_t UdpClientTable::hash(const UdpClientKey& key) const noexcept {
  std::array<std::uint64_t, sizeof(UdpClientKey) / 8> words;
  std::memcpy(words.data(), &key, sizeof(key));
  std::uint64_t state = seed_ ^ 0x9e3779b97f4a7c15;
  for (const std::uint64_t word : words) state = mix(word ^ state, seed_ | 1) + (state >> 29);
  return mix(state, 0xd6e8feb86659fd93);
}

UdpClientTable::Entry* UdpClientTable::find(const UdpClientKey& key, std::uint64_t hash) noexcept {
  for (Entry* entry = *bucket(hash); entry != nullptr; entry = entry->chain_) {
    if (entry->key_ == key) return entry;
  }
  return nullptr;
}

void UdpClientTable::insert(Entry& entry, const UdpClientKey& key, EndpointPtr endpoint, Nanoseconds now) {
  if (size_ >= buckets_.size()) grow();
  OwnerList& owner = owners_[key.owner];
  const Endpoint* const target = endpoint.get();
  OfEndpoint& group = endpoints_[target];
  // No exceptions from here on.
  if (group.endpoint == nullptr) group.endpoint = std::move(endpoint);
  entry.key_ = key;
  entry.group_ = &group;
  entry.last_ = now;
  group.clients.push_back(entry);
  owner.push_back(entry);
  order_.push_back(entry);
  Entry** const first = bucket(hash(key));
  entry.chain_ = *first;
  *first = &entry;
  ++size_;
}

void UdpClientTable::erase(Entry& entry) noexcept {
  Entry** link = bucket(hash(entry.key_));
  while (*link != &entry) link = &(*link)->chain_;
  *link = entry.chain_;
  entry.chain_ = nullptr;
  order_.erase(order_.iterator_to(entry));
  entry.of_owner_.unlink();
  OfEndpoint& group = *std::exchange(entry.group_, nullptr);
  group.clients.erase(group.clients.iterator_to(entry));
  if (group.clients.empty()) endpoints_.erase(group.endpoint.get());
  if (const auto owner = owners_.find(entry.key_.owner); owner->second.empty()) owners_.erase(owner);
  --size_;
  if (size_ <= limit_ / 2) limit_ = max_clients_;
}

void UdpClientTable::renew(Entry& entry, Nanoseconds now) noexcept {
  entry.last_ = now;
  order_.splice(order_.end(), order_, order_.iterator_to(entry));
}

UdpClientTable::Entry* UdpClientTable::expired(Nanoseconds now) noexcept {
  return order_.empty() || next_expiry() > now ? nullptr : &order_.front();
}

UdpClientTable::Entry* UdpClientTable::any_of(const Endpoint* endpoint) noexcept {
  const auto found = endpoints_.find(endpoint);
  return found == endpoints_.end() || found->second.clients.empty() ? nullptr : &found->second.clients.front();
}

UdpClientTable::Entry* UdpClientTable::any_of(std::uint64_t owner) noexcept {
  const auto found = owners_.find(owner);
  return found == owners_.end() || found->second.empty() ? nullptr : &found->second.front();
}

void UdpClientTable::grow() {
  std::vector<Entry*> old(buckets_.size() * 2);
  old.swap(buckets_);
  for (Entry* entry : old) {
    while (entry != nullptr) {
      Entry* const next = entry->chain_;
      Entry** const first = bucket(hash(entry->key_));
      entry->chain_ = *first;
      *first = entry;
      entry = next;
    }
  }
}

}  // namespace sluice::userspace

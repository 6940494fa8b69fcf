// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/store/slice_cache.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <tuple>
#include <utility>

namespace sluice::store {
namespace {

// Per Service: bounds memory while nothing takes the trigger times.
constexpr std::size_t kMostTriggerTimes = 1024;

// Orders as the text of an address and port does: its characters in 5 bits each, the first one in the highest bits. A
// Service can have tens of thousands of endpoints, and strings would take most of the time and memory of sorting them.
using TextOrder = std::array<std::uint64_t, 4>;
constexpr unsigned kBits = 5;
constexpr std::size_t kPerWord = 12;
constexpr std::string_view kCharacters = ".0123456789:[]abcdef";  // in byte order
static_assert(kCharacters.size() < 1U << kBits);
static_assert(sizeof "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535" - 1 <= kPerWord * std::tuple_size_v<TextOrder>);

constexpr auto kRanks = [] {
  std::array<std::uint8_t, 128> out{};  // 0: the end of the text
  std::uint8_t rank = 0;
  for (const char c : kCharacters) out[static_cast<std::size_t>(c)] = ++rank;
  return out;
}();

TextOrder text_order(lib::Family family, const std::array<std::uint8_t, 16>& address, std::uint16_t port) {
  std::array<char, sizeof "255.255.255.255:65535"> ipv4;
  std::string ipv6;
  std::string_view text;
  if (family == lib::Family::ipv4) {
    char* at = ipv4.data();
    for (std::size_t i = 0; i < 4; ++i) {
      at = std::to_chars(at, ipv4.end(), address[i]).ptr;
      *at++ = i < 3 ? '.' : ':';
    }
    at = std::to_chars(at, ipv4.end(), port).ptr;
    text = {ipv4.data(), static_cast<std::size_t>(at - ipv4.data())};
  } else {
    ipv6 = lib::host_port(lib::IpAddress::from_bytes(family, address.data()), port);
    text = ipv6;
  }
  TextOrder out{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto shift = kBits * (kPerWord - 1 - i % kPerWord);
    out[i / kPerWord] |= std::uint64_t{kRanks[static_cast<std::size_t>(text[i])]} << shift;
  }
  return out;
}

// An endpoint of one slice. Of several with the same address and port, a later one comes later.
struct Record {
  TextOrder order;
  std::uint32_t match;     // in the list of matches
  std::uint32_t endpoint;  // in its slice
  std::uint16_t port;

  bool operator<(const Record& other) const {
    return std::tie(order, match, endpoint) < std::tie(other.order, other.match, other.endpoint);
  }
};

}  // namespace

SliceCache::Affected SliceCache::upsert(model::EndpointSlice slice) {
  Affected affected;
  bool same_traffic = false;
  if (const auto owner = owner_of_.find(slice.name); owner != owner_of_.end()) {
    Entry& old = services_.at(owner->second).slices.at(slice.name.name);
    old.epoch = epoch_;
    same_traffic = old.slice.same_traffic(slice);
    if (same_traffic && old.slice.details == slice.details) return affected;
    // Moved to another Service or family.
    if (!(old.slice.service == slice.service && old.slice.family == slice.family)) erase(slice.name, affected);
  }
  affected.services.emplace_back(slice.service, slice.family);
  owner_of_[slice.name] = slice.service;
  PerService& service = services_[slice.service];
  // A change of details has no trigger time of its own.
  if (!same_traffic && slice.trigger_time && *slice.trigger_time >= started_) {
    TriggerTimes& times = service.trigger_times[lib::family_index(slice.family)];
    if (times.size() < kMostTriggerTimes) times.push_back(*slice.trigger_time);
  }
  Entry& entry = service.slices[slice.name.name];
  endpoint_count_ += slice.endpoints.size();
  endpoint_count_ -= entry.slice.endpoints.size();
  entry.slice = std::move(slice);
  entry.epoch = epoch_;
  return affected;
}

SliceCache::Affected SliceCache::remove(const model::ObjectName& slice) {
  Affected affected;
  erase(slice, affected);
  return affected;
}

void SliceCache::touch(const model::ObjectName& slice) {
  if (const auto owner = owner_of_.find(slice); owner != owner_of_.end()) {
    services_.at(owner->second).slices.at(slice.name).epoch = epoch_;
  }
}

SliceCache::Affected SliceCache::end_list() {
  std::vector<model::ObjectName> gone;
  for (const auto& [name, service] : owner_of_) {
    if (services_.at(service).slices.at(name.name).epoch != epoch_) gone.push_back(name);
  }
  Affected affected;
  for (const auto& name : gone) erase(name, affected);
  return affected;
}

void SliceCache::erase(const model::ObjectName& slice, Affected& affected) {
  const auto owner = owner_of_.find(slice);
  if (owner == owner_of_.end()) return;
  const auto service = services_.find(owner->second);
  const auto entry = service->second.slices.find(slice.name);
  affected.services.emplace_back(owner->second, entry->second.slice.family);
  endpoint_count_ -= entry->second.slice.endpoints.size();
  // BEH 2.6: a removal drops what was stored.
  service->second.trigger_times[lib::family_index(entry->second.slice.family)].clear();
  service->second.slices.erase(entry);
  if (service->second.slices.empty()) services_.erase(service);
  owner_of_.erase(owner);
}

std::vector<SliceCache::Matches> SliceCache::matches(const model::ObjectName& service, lib::Family family,
                                                     const std::vector<model::ServicePortSpec>& ports) const {
  std::vector<Matches> out(ports.size());
  const auto found = services_.find(service);
  if (found == services_.end()) return out;
  const auto key = [](const base::Symbol& name, model::Protocol protocol) {
    return std::uint64_t{name.id()} << 8 | static_cast<std::uint8_t>(protocol);
  };
  std::unordered_multimap<std::uint64_t, std::size_t> wanted;
  for (std::size_t i = 0; i < ports.size(); ++i) wanted.emplace(key(ports[i].name, ports[i].protocol), i);
  for (const auto& [name, entry] : found->second.slices) {
    if (entry.slice.family != family) continue;
    for (const model::SlicePort& port : entry.slice.ports) {
      const auto [first, last] = wanted.equal_range(key(port.name, port.protocol));
      for (auto at = first; at != last; ++at) out[at->second].push_back({&entry.slice, port.port});
    }
  }
  return out;
}

std::vector<Candidate> SliceCache::candidates(const Matches& matches, std::string_view node_name) {
  std::vector<Record> records;
  std::size_t count = 0;
  for (const Match& match : matches) count += match.slice->endpoints.size();
  records.reserve(count);
  for (std::uint32_t i = 0; i < matches.size(); ++i) {
    const model::EndpointSlice& slice = *matches[i].slice;
    for (std::uint32_t at = 0; at < slice.endpoints.size(); ++at) {
      records.push_back(
          {text_order(slice.family, slice.endpoints[at].address, matches[i].port), i, at, matches[i].port});
    }
  }
  std::sort(records.begin(), records.end());

  const base::Symbol our_node(node_name);
  std::vector<Candidate> out;
  out.reserve(records.size());
  const TextOrder* previous = nullptr;
  for (const Record& record : records) {
    const model::EndpointSlice& slice = *matches[record.match].slice;
    const model::SliceEndpoint& endpoint = slice.endpoints[record.endpoint];
    const bool is_new = previous == nullptr || *previous != record.order;
    previous = &record.order;
    if (!is_new && endpoint.terminating) continue;
    if (is_new) out.emplace_back();
    Candidate& candidate = out.back();
    candidate.address = endpoint.address;
    candidate.port = record.port;
    candidate.zone_hints = endpoint.zone_hints;
    candidate.node_hints = endpoint.node_hints;
    candidate.local = !our_node.empty() && endpoint.node == our_node;
    candidate.ready = endpoint.ready;
    candidate.serving = endpoint.serving;
    candidate.terminating = endpoint.terminating;
    candidate.record = &endpoint;
    candidate.details = slice.details ? &(*slice.details)[record.endpoint] : nullptr;
  }
  return out;
}

SliceCache::TriggerTimes SliceCache::take_trigger_times(const model::ObjectName& service, lib::Family family) {
  const auto found = services_.find(service);
  if (found == services_.end()) return {};
  return std::exchange(found->second.trigger_times[lib::family_index(family)], {});
}

}  // namespace sluice::store

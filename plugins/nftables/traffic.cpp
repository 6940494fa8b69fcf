// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/traffic.hpp"

#include "plugins/nftables/model/flat_index.hpp"
#include "plugins/nftables/urgency.hpp"

namespace sluice::nftables {
namespace {

std::uint64_t grown(std::uint64_t now, std::uint64_t before) noexcept { return now >= before ? now - before : now; }

}  // namespace

std::size_t Traffic::Hash::operator()(const Frontend& frontend) const noexcept {
  return hash_bytes(frontend.second.data(), frontend.second.size(), frontend.first);
}

Traffic::News Traffic::take(const std::vector<TrafficCount>& counts,
                            const std::function<std::string_view(const FrontendKey&)>& owner) {
  ++round_;
  News news;
  for (const TrafficCount& count : counts) {
    const std::string_view service = service_of(owner(count.frontend));
    if (service.empty()) continue;
    Held& held = held_[{count.frontend.node_port, frontend_key(family_, count.frontend)}];
    held.round = round_;
    const Sum more{grown(count.packets, held.last.packets), grown(count.bytes, held.last.bytes)};
    held.last = {count.packets, count.bytes};
    auto told = told_.find(service);
    if (told != told_.end()) told->second = round_;
    if (more.packets == 0) continue;
    if (told == told_.end()) told_.emplace(service, round_);
    auto sum = news.more.find(service);
    if (sum == news.more.end()) sum = news.more.emplace(service, Sum()).first;
    sum->second.packets += more.packets;
    sum->second.bytes += more.bytes;
  }
  // A dump may lack elements that are there: another time they would count as new.
  std::erase_if(held_, [&](const auto& one) {
    if (one.second.round == round_) return false;
    const auto& [node_port, key] = one.first;
    const std::string_view service = service_of(owner(read_frontend(family_, key, node_port)));
    if (service.empty()) return true;
    if (const auto told = told_.find(service); told != told_.end()) told->second = round_;
    return false;
  });
  std::erase_if(told_, [&](const auto& one) {
    const bool is_gone = one.second != round_;
    if (is_gone) news.gone.push_back(one.first);
    return is_gone;
  });
  return news;
}

}  // namespace sluice::nftables

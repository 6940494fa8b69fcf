// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/traffic.hpp"

#include "plugins/nftables/write_order.hpp"

namespace sluice::nftables {
namespace {

std::uint64_t grown(std::uint64_t now, std::uint64_t before) noexcept { return now >= before ? now - before : now; }

}  // namespace

std::size_t Traffic::Hash::operator()(const Frontend& frontend) const noexcept {
  return hash_bytes(frontend.second.data(), frontend.second.size(), frontend.first);
}

Traffic::Delta Traffic::take(const std::vector<TrafficCount>& counts,
                             const std::function<std::string_view(const FrontendKey&)>& owner) {
  ++round_;
  Delta delta;
  for (const TrafficCount& count : counts) {
    const std::string_view service = service_of(owner(count.frontend));
    if (service.empty()) continue;
    Held& held = held_[{count.frontend.node_port, frontend_key(family_, count.frontend)}];
    held.round = round_;
    const Sum growth{grown(count.packets, held.last.packets), grown(count.bytes, held.last.bytes)};
    held.last = {count.packets, count.bytes};
    auto reported = reported_.find(service);
    if (reported != reported_.end()) reported->second = round_;
    if (growth.packets == 0) continue;
    if (reported == reported_.end()) reported_.emplace(service, round_);
    auto sum = delta.growth.find(service);
    if (sum == delta.growth.end()) sum = delta.growth.emplace(service, Sum()).first;
    sum->second.packets += growth.packets;
    sum->second.bytes += growth.bytes;
  }
  // A dump may lack elements that exist. Keep their counters: they would be counted again otherwise.
  std::erase_if(held_, [&](const auto& one) {
    if (one.second.round == round_) return false;
    const auto& [node_port, key] = one.first;
    const std::string_view service = service_of(owner(read_frontend(family_, key, node_port)));
    if (service.empty()) return true;
    if (const auto reported = reported_.find(service); reported != reported_.end()) reported->second = round_;
    return false;
  });
  std::erase_if(reported_, [&](const auto& one) {
    const bool is_gone = one.second != round_;
    if (is_gone) delta.gone.push_back(one.first);
    return is_gone;
  });
  return delta;
}

}  // namespace sluice::nftables

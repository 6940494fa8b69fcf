// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/nftables/traffic.hpp"

#include <string_view>

namespace sluice::nftables {
namespace {

std::uint64_t grown(std::uint64_t now, std::uint64_t before) noexcept { return now >= before ? now - before : now; }

}  // namespace

void Traffic::learn_owners(const Model& model) {
  std::map<Frontend, Held> held;
  for (const PortId& id : model.ids()) {
    const std::string service = id.first.substr(0, id.first.find(':'));
    model.walk(id, [&](const Record& record, std::string_view) {
      const bool node_port = record.set == SetId::kNodePortTraffic;
      if (!node_port && record.set != SetId::kServiceTraffic) return;
      Frontend frontend{node_port, record.key};
      const auto before = held_.find(frontend);
      const Sum last = before != held_.end() ? before->second.last : Sum{};
      held.emplace(std::move(frontend), Held{service, last});
    });
  }
  held_ = std::move(held);
  known_ = true;
}

std::map<std::string, Traffic::Sum> Traffic::take(const std::vector<TrafficCount>& counts, const Model& model) {
  if (!known_) learn_owners(model);
  std::map<std::string, Sum> sums;
  for (const TrafficCount& count : counts) {
    const auto found = held_.find({count.frontend.node_port, frontend_key(family_, count.frontend)});
    if (found == held_.end()) continue;
    Sum& last = found->second.last;
    const Sum more{grown(count.packets, last.packets), grown(count.bytes, last.bytes)};
    last = {count.packets, count.bytes};
    if (more.packets == 0) continue;
    Sum& sum = sums[found->second.service];
    sum.packets += more.packets;
    sum.bytes += more.bytes;
  }
  return sums;
}

}  // namespace sluice::nftables

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/inspected_rows.hpp"

#include <algorithm>

#include "core/plugin/host_services.hpp"
#include "sluice/sdk/inspection.hpp"

namespace sluice::plugin {
namespace {

std::string on_one_line(abi::StringView from) { return one_line(sdk::text(from)); }

InspectedKey names(const abi::ServicePortKey& key) {
  InspectedKey out{on_one_line(key.service_namespace), on_one_line(key.service_name), on_one_line(key.port_name), {}};
  if (!out.service.empty()) out.protocol = sdk::protocol_name(key.protocol);
  return out;
}

}  // namespace

InspectedCounters copy(const abi::InspectedCounters& row, abi::Family family) {
  InspectedCounters out{.key = names(row.key),
                        .flags = row.flags,
                        .connections = row.connections,
                        .packets = row.packets,
                        .bytes = row.bytes,
                        .reply_packets = row.reply_packets,
                        .reply_bytes = row.reply_bytes,
                        .active_connections = row.active_connections,
                        .refused = row.refused};
  if ((row.flags & abi::kCountedFrontend) != 0) {
    out.port = row.port;
    if ((row.flags & abi::kCountedNodePort) == 0) out.address = sdk::to_string(row.address, family);
  }
  if ((row.flags & abi::kCountedTarget) != 0) {
    out.target = sdk::to_string(row.target, family);
    out.target_port = row.target_port;
  }
  return out;
}

InspectedDrift copy(const abi::InspectedDrift& row, abi::Family) {
  const bool known = row.kind >= abi::DriftKind::kDriftMissing && row.kind <= abi::DriftKind::kDriftForeign;
  return {names(row.key),          known ? row.kind : abi::DriftKind::kDriftChanged,
          std::max(row.count, 1u), on_one_line(row.object),
          on_one_line(row.wanted), on_one_line(row.found)};
}

InspectedStep copy(const abi::InspectedStep& row, abi::Family family) {
  InspectedStep out{.object = on_one_line(row.object),
                    .effect = on_one_line(row.effect),
                    .remarks = on_one_line(row.remarks),
                    .verdict = row.verdict,
                    .flags = row.flags,
                    .packets = row.packets,
                    .bytes = row.bytes};
  for (const abi::InspectedTarget& one : sdk::range<abi::InspectedTarget>(row.targets)) {
    out.targets.push_back(copy(one, family));
  }
  return out;
}

}  // namespace sluice::plugin

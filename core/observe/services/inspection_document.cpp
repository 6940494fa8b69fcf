// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/services/inspection_document.hpp"

#include <array>

namespace sluice::observe {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 5> kDriftKinds{"", "Missing", "Changed", "Extra", "Foreign"};
constexpr std::array<const char*, 5> kVerdicts{"Continues", "Served", "Rejected", "Dropped", "NotProxied"};

json known(std::uint32_t flags, std::uint32_t flag, std::uint64_t value) {
  return (flags & flag) != 0 ? json(value) : json();
}

// The members of a service port, which are null for none.
json keyed(const plugin::InspectedKey& key) {
  if (key.service.empty()) return {{"service", nullptr}, {"port_name", nullptr}, {"protocol", nullptr}};
  return {{"service", key.name_space + "/" + key.service}, {"port_name", key.port_name}, {"protocol", key.protocol}};
}

json row_json(const plugin::InspectedCounters& row) {
  json out = keyed(row.key);
  out["frontend"] = nullptr;
  if ((row.flags & abi::kCountedFrontend) != 0) {
    out["frontend"] = {
        {"address", row.address}, {"port", row.port}, {"node_port", (row.flags & abi::kCountedNodePort) != 0}};
  }
  out["endpoint"] = nullptr;
  if ((row.flags & abi::kCountedTarget) != 0) out["endpoint"] = {{"address", row.target}, {"port", row.target_port}};
  out["both_directions"] = (row.flags & abi::kCountedBothDirections) != 0;
  out["connections"] = known(row.flags, abi::kKnownConnections, row.connections);
  out["packets"] = known(row.flags, abi::kKnownPackets, row.packets);
  out["bytes"] = known(row.flags, abi::kKnownBytes, row.bytes);
  out["reply_packets"] = known(row.flags, abi::kKnownReplyPackets, row.reply_packets);
  out["reply_bytes"] = known(row.flags, abi::kKnownReplyBytes, row.reply_bytes);
  out["active_connections"] = known(row.flags, abi::kKnownActive, row.active_connections);
  out["refused"] = known(row.flags, abi::kKnownRefused, row.refused);
  return out;
}

json row_json(const plugin::InspectedDrift& row) {
  json out = keyed(row.key);
  out["kind"] = kDriftKinds[static_cast<std::size_t>(row.kind)];
  out["count"] = row.count;
  out["object"] = row.object;
  out["wanted"] = row.wanted;
  out["found"] = row.found;
  return out;
}

json row_json(const plugin::InspectedStep& row) {
  json endpoints = json::array();
  for (const auto& one : row.targets) endpoints.push_back(target_json(one));
  return {{"object", row.object},
          {"effect", row.effect},
          {"remarks", row.remarks},
          {"endpoints", std::move(endpoints)},
          {"verdict", kVerdicts[static_cast<std::size_t>(row.verdict)]},
          {"masquerades", (row.flags & abi::kStepMasquerades) != 0},
          {"packets", known(row.flags, abi::kStepCounted, row.packets)},
          {"bytes", known(row.flags, abi::kStepCounted, row.bytes)}};
}

template <class Row>
json rows_json(const std::vector<Row>& rows) {
  json out = json::array();
  for (const Row& row : rows) out.push_back(row_json(row));
  return out;
}

}  // namespace

json target_json(const plugin::InspectedTarget& target) {
  return {{"address", target.address},
          {"port", target.port},
          {"object", target.object},
          {"draining", (target.flags & abi::kTargetDraining) != 0},
          {"remarks", target.remarks}};
}

json inspected_rows(const plugin::InspectionOutcome& outcome, abi::InspectionKind kind) {
  if (kind == abi::InspectionKind::kInspectCounters) return rows_json(outcome.counters);
  if (kind == abi::InspectionKind::kInspectDrift) return rows_json(outcome.drift);
  return rows_json(outcome.steps);
}

}  // namespace sluice::observe

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/userspace/drift_rows.hpp"

#include <string>
#include <utility>

#include "plugins/userspace/portal/portal_drift.hpp"
#include "sluice/sdk/service.hpp"

namespace sluice::userspace {
namespace {

using inspection::DriftRows;

std::string described_object(const PortalDifference& difference) {
  const std::string chain = std::string(netfilter::table_name(difference.table)).append(" ").append(difference.chain);
  const bool foreign = difference.kind == abi::DriftKind::kDriftForeign;
  switch (difference.object) {
    case DifferentObject::kChain:
      return foreign ? "rules in other chains that jump to " + chain : "chain " + chain;
    case DifferentObject::kJump: {
      const netfilter::Rule& rule = difference.wanted != nullptr ? *difference.wanted : *difference.found;
      return "jump from " + chain + " to " + read_portal_rule(rule.text).target;
    }
    case DifferentObject::kRule:
      break;
  }
  return foreign ? "rule of another program above the jumps in " + chain : "rule in " + chain;
}

DriftRows::Row row_of(const PortalDifference& difference) {
  DriftRows::Row row{.kind = difference.kind, .object = described_object(difference)};
  if (difference.of != nullptr) {
    row.service_port = difference.of->first;
    row.protocol = difference.of->second;
  }
  if (difference.wanted != nullptr) row.wanted = difference.wanted->text;
  if (difference.found != nullptr) row.found = difference.found->text;
  if (difference.kind == abi::DriftKind::kDriftChanged && difference.wanted->hash == difference.found->hash)
    row.found = "the same rule, above rules that must precede it";
  return row;
}

}  // namespace

void add_drift(PortalWriter& writer, const ServiceTable& table, DriftRows& rows) {
  writer.each_difference([&](const PortalDifference& difference) { rows.add(row_of(difference)); });
  for (const ServiceTable::BoundListener& at : table.bound_listeners()) {
    const Listener& listener = *at.listener;
    if (!rows.wants(listener.name())) continue;
    std::string problem = table.socket_problem(at);
    if (problem.empty()) continue;
    rows.add({.kind = abi::DriftKind::kDriftChanged,
              .object = "proxy socket " + std::to_string(at.port) + "/" +
                        std::string(sdk::protocol_name(listener.protocol())),
              .service_port = listener.name(),
              .protocol = listener.protocol(),
              .wanted = "receives the clients of this service port",
              .found = std::move(problem)});
  }
}

}  // namespace sluice::userspace

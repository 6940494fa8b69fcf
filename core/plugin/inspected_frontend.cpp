// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/plugin/inspected_frontend.hpp"

#include "core/plugin/host_services.hpp"
#include "sluice/sdk/inspection.hpp"

namespace sluice::plugin {
namespace {

std::string line(abi::StringView from) { return one_line(sdk::text(from)); }

}  // namespace

InspectedTarget copy(const abi::InspectedTarget& from, abi::Family family) {
  const bool known = !sdk::has(from, abi::kTargetUnknown);
  return {known ? sdk::to_string(from.address, family) : std::string(), from.port, from.flags, line(from.object),
          line(from.remarks)};
}

namespace {

InspectedTargets copy_all(const abi::InspectedTargets& from, abi::Family family) {
  InspectedTargets out{{}, line(from.instead), line(from.remarks)};
  for (const abi::InspectedTarget& one : sdk::range<abi::InspectedTarget>(from.targets)) {
    out.targets.push_back(copy(one, family));
  }
  return out;
}

std::vector<std::string> prefixes(const abi::ArrayView& from, abi::Family family, bool single_as_address) {
  std::vector<std::string> out;
  for (const abi::Prefix& one : sdk::range<abi::Prefix>(from)) {
    const bool single = single_as_address && one.length == sdk::address_bytes(family) * 8;
    out.push_back(single ? sdk::to_string(one.address, family) : sdk::to_string(one, family));
  }
  return out;
}

}  // namespace

InspectedFrontend copy(const abi::InspectedFrontend& row, abi::Family family) {
  InspectedFrontend out;
  out.name_space = line(row.key.service_namespace);
  out.service = line(row.key.service_name);
  out.port_name = line(row.key.port_name);
  out.flags = row.flags;
  out.object = line(row.object);
  if (!out.object.empty()) return out;
  out.protocol = sdk::protocol_name(row.key.protocol);
  if (!out.has(abi::kInspectedNodePort)) out.address = sdk::to_string(row.address, family);
  out.port = row.port;
  out.addresses = prefixes(row.addresses, family, true);
  out.affinity_seconds = row.affinity_seconds;
  out.targets = copy_all(row.targets, family);
  out.node_targets = copy_all(row.node_targets, family);
  out.otherwise = line(row.otherwise);
  out.source_ranges = prefixes(row.source_ranges, family, false);
  out.ranges_instead = line(row.ranges_instead);
  out.ranges_remarks = line(row.ranges_remarks);
  out.remarks = line(row.remarks);
  return out;
}

}  // namespace sluice::plugin

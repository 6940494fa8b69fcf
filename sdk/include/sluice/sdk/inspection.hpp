// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The text of inspected frontends, in the grammar of abi::Inspection.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sluice/abi/inspection.hpp"
#include "sluice/sdk/address.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::sdk {

inline bool has(const abi::InspectedFrontend& row, abi::InspectedFlag flag) noexcept { return (row.flags & flag) != 0; }
inline bool has(const abi::InspectedTarget& target, abi::InspectedTargetFlag flag) noexcept {
  return (target.flags & flag) != 0;
}

namespace detail {

inline std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& one : items) out.append(out.empty() ? "" : ", ").append(one);
  return out;
}

inline std::string with_remarks(std::string of, abi::StringView remarks) {
  if (remarks.size != 0) of.append(" (").append(text(remarks)).append(")");
  return of;
}

inline std::string targets_text(const abi::InspectedTargets& of, abi::Family family) {
  std::vector<std::string> list;
  for (const abi::InspectedTarget& one : range<abi::InspectedTarget>(of.targets)) {
    const bool unknown = has(one, abi::kTargetUnknown);
    list.push_back(with_remarks(unknown ? std::string(text(one.object)) : host_port(one.address, family, one.port),
                                one.remarks));
  }
  std::sort(list.begin(), list.end());
  return with_remarks(list.empty() ? std::string(text(of.instead)) : joined(list), of.remarks);
}

inline std::string ranges_text(const abi::InspectedFrontend& row, abi::Family family) {
  std::vector<std::string> list;
  for (const abi::Prefix& one : range<abi::Prefix>(row.source_ranges)) list.push_back(to_string(one, family));
  return with_remarks(list.empty() ? std::string(text(row.ranges_instead)) : joined(list), row.ranges_remarks);
}

}  // namespace detail

// "192.0.2.7, 198.51.100.1", "every address of this node" or "no address".
inline std::string node_port_addresses_text(const abi::InspectedFrontend& row, abi::Family family) {
  if (has(row, abi::kInspectedEveryAddress)) return "every address of this node";
  std::vector<std::string> list;
  for (const abi::Prefix& one : range<abi::Prefix>(row.addresses)) {
    const bool single = one.length == address_bytes(family) * 8;
    list.push_back(single ? to_string(one.address, family) : to_string(one, family));
  }
  std::sort(list.begin(), list.end());
  return list.empty() ? "no address" : detail::joined(list);
}

// "172.30.0.41:80/tcp", "[fd00::1]:80/udp", ":30080/tcp".
inline std::string frontend_text(const abi::InspectedFrontend& row, abi::Family family) {
  std::string out = has(row, abi::kInspectedNodePort) ? ":" + std::to_string(row.port)
                                                      : host_port(row.address, family, row.port);
  return out.append("/").append(protocol_name(row.key.protocol));
}

// The line of abi::Inspection::services() for the row.
inline std::string inspection_line(const abi::InspectedFrontend& row, abi::Family family) {
  std::string line = has(row, abi::kInspectedNotWanted) ? "not wanted by any Service: " : service_port_name(row.key) + " ";
  if (row.object.size != 0) return line.append(text(row.object));
  line += frontend_text(row, family);
  if (has(row, abi::kInspectedNodePort)) line += " at " + node_port_addresses_text(row, family);
  if (row.affinity_seconds != 0) line += " sticky for " + std::to_string(row.affinity_seconds) + " s";
  if (has(row, abi::kInspectedMasqueraded)) line += " masqueraded";
  std::string targets = detail::targets_text(row.targets, family);
  std::string node_targets = detail::targets_text(row.node_targets, family);
  std::string otherwise(text(row.otherwise));
  std::string& last = !targets.empty() ? targets : !node_targets.empty() ? node_targets : otherwise;
  last = detail::with_remarks(std::move(last), row.remarks);
  if (!targets.empty()) line += " -> " + targets;
  if (!node_targets.empty()) line += (targets.empty() ? " from this node -> " : "; from this node -> ") + node_targets;
  if (!otherwise.empty()) line += (targets.empty() && node_targets.empty() ? " -> " : "; else ") + otherwise;
  if (has(row, abi::kInspectedRestricted)) line += "; only for " + detail::ranges_text(row, family);
  return line;
}

}  // namespace sluice::sdk

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rows of one kind of inspection, as lines; and Services with every kind of rule.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/abi/inspection.hpp"
#include "sluice/sdk/views.hpp"
#include "test/unit/common/inspection_examples.hpp"
#include "test/unit/iptables/backend_rig.hpp"

namespace sluice::test {

using Lines = std::vector<std::string>;

template <class Row>
struct PrintingSink final : abi::InspectionSink {
  explicit PrintingSink(std::function<std::string(const Row&)> printer) : print(std::move(printer)) {}
  std::int32_t add(abi::ArrayView rows) noexcept override {
    for (const Row& row : sdk::range<Row>(rows)) lines.push_back(print(row));
    return 1;
  }
  std::function<std::string(const Row&)> print;
  Lines lines;
};

// Sets `rig.inspected`.
template <class Row>
Lines inspect_rows(IptablesRig& rig, abi::InspectionKind kind, std::function<std::string(const Row&)> print,
                   const std::string& name = {}, const abi::InspectedPacket* packet = nullptr) {
  PrintingSink<Row> sink(std::move(print));
  abi::InspectionQuery query{};
  query.struct_size = sizeof(query);
  query.kind = kind;
  query.name = sdk::view(name);
  query.packet = packet;
  rig.error = {};
  rig.error.struct_size = sizeof(rig.error);
  auto* const rows = static_cast<abi::InspectionRows*>(rig.backend().extension(sdk::view(abi::kInspectionRows)));
  rig.inspected = rows->inspect(&query, &sink, &rig.error);
  return sink.lines;
}

struct EveryKindOfRule : InspectionExamples {
  // Both policies, affinity, source ranges, node ports, no endpoints, health checks, UDP.
  static std::vector<ServiceSpec> all_kinds() {
    ServiceSpec ranged = balanced();
    ranged.node_port = 30001;
    ranged.external_ips = {"192.0.2.10"};
    ServiceSpec local = example(2);
    local.node_port = 30002;
    local.vips = {"1.2.3.5"};
    local.external_local = true;
    local.affinity_seconds = 60;
    local.health_check_node_port = 31002;
    ServiceSpec internal = example(3);
    internal.internal_local = true;
    internal.protocol = abi::Protocol::kUdp;
    ServiceSpec empty = example(4);
    empty.endpoints.clear();
    empty.node_port = 30004;
    empty.external_ips = {"192.0.2.14"};
    ServiceSpec elsewhere = example(5);
    elsewhere.endpoints.pop_back();
    elsewhere.internal_local = elsewhere.external_local = true;
    elsewhere.vips = {"1.2.3.6"};
    elsewhere.source_ranges = {"203.0.113.0/25"};
    return {ranged, local, internal, empty, elsewhere};
  }

  // The first chain of table nat with this prefix and a rule that contains `part`.
  static std::string chain_with(const IptablesRig& rig, const std::string& prefix, const std::string& part) {
    for (const auto& [name, rules] : rig.kernel.tables.at("nat")) {
      if (!name.starts_with(prefix)) continue;
      for (const std::string& rule : rules) {
        if (rule.find(part) != std::string::npos) return name;
      }
    }
    CPPUNIT_FAIL("no chain " + prefix + " with " + part);
    return {};
  }
};

}  // namespace sluice::test

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The rows of abi::InspectionRows of an IpvsRig, as lines.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/sdk/service.hpp"
#include "test/unit/ipvs/backend_rig.hpp"

namespace sluice::test {

// Keeps what `print` makes of each row.
template <class Row>
struct RowTexts final : abi::InspectionSink {
  explicit RowTexts(std::function<std::string(const Row&)> printer) : print(std::move(printer)) {}
  std::int32_t add(abi::ArrayView rows) noexcept override {
    for (const Row& row : sdk::range<Row>(rows)) found.push_back(print(row));
    return 1;
  }
  std::function<std::string(const Row&)> print;
  std::vector<std::string> found;
};

// Empty, with rig.error and rig.inspected set, if the call fails.
template <class Row>
std::vector<std::string> inspected_rows(IpvsRig& rig, abi::InspectionKind kind, const std::string& name,
                                        std::function<std::string(const Row&)> print,
                                        const abi::InspectedPacket* packet = nullptr) {
  RowTexts<Row> sink(std::move(print));
  abi::InspectionQuery query{};
  query.struct_size = sizeof(query);
  query.kind = kind;
  query.name = sdk::view(name);
  query.packet = packet;
  rig.error = {};
  rig.error.struct_size = sizeof(rig.error);
  auto* const rows = static_cast<abi::InspectionRows*>(rig.backend().extension(sdk::view(abi::kInspectionRows)));
  rig.inspected = rows->inspect(&query, &sink, &rig.error);
  if (rig.inspected != abi::Code::kOk) return {};
  return sink.found;
}

}  // namespace sluice::test

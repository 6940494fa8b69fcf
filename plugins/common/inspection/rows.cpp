// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/inspection/rows.hpp"

#include <algorithm>
#include <deque>

#include "lib/text.hpp"
#include "sluice/sdk/service.hpp"
#include "sluice/sdk/views.hpp"

namespace sluice::inspection {
namespace {

template <class R>
bool deliver_row(const R& row, abi::InspectionSink& sink) {
  return sink.add(sdk::array(&row, 1)) != 0;
}

}  // namespace

bool belongs_to(std::string_view service_port, std::string_view name) noexcept {
  if (name.empty()) return true;
  if (!service_port.starts_with(name)) return false;
  return service_port.size() == name.size() || service_port[name.size()] == ':';
}

void CounterRows::add(std::string service_port, const abi::InspectedCounters& row) {
  if (wants(service_port)) rows_.push_back({std::move(service_port), row});
}

void CounterRows::deliver(abi::InspectionSink& sink) {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return a.service_port < b.service_port; });
  for (Row& row : rows_) {
    row.counters.key = sdk::parse_service_port_name(row.service_port, row.counters.key.protocol);
    if (!deliver_row(row.counters, sink)) return;
  }
}

void DriftRows::add(Row row) {
  if (!wants(row.service_port)) return;
  if (rows_.size() < kMost) {
    rows_.push_back(std::move(row));
  } else {
    more_[static_cast<std::size_t>(row.kind)] += row.count;
  }
}

void DriftRows::deliver(abi::InspectionSink& sink) {
  // Rows without a service port come last.
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    if (a.service_port.empty() != b.service_port.empty()) return b.service_port.empty();
    return a.service_port < b.service_port;
  });
  for (std::size_t kind = 0; kind < std::size(more_); ++kind) {
    if (more_[kind] == 0) continue;
    rows_.push_back({.kind = static_cast<abi::DriftKind>(kind), .object = "more objects", .count = more_[kind]});
  }
  for (const Row& row : rows_) {
    abi::InspectedDrift flat{};
    flat.key = sdk::parse_service_port_name(row.service_port, row.protocol);
    flat.kind = row.kind;
    flat.count = row.count;
    flat.object = sdk::view(row.object);
    flat.wanted = sdk::view(row.wanted);
    flat.found = sdk::view(row.found);
    if (!deliver_row(flat, sink)) return;
  }
}

void Explanation::deliver(abi::InspectionSink& sink) {
  for (const Step& step : steps_) {
    std::deque<std::string> texts;
    std::vector<abi::InspectedTarget> targets;
    for (const Target& one : step.targets) targets.push_back(flat_target(one, texts));
    const std::string remarks = lib::joined(step.remarks);
    abi::InspectedStep flat{};
    flat.object = sdk::view(step.object);
    flat.effect = sdk::view(step.effect);
    flat.remarks = sdk::view(remarks);
    flat.targets = sdk::array(targets.data(), targets.size());
    flat.verdict = step.verdict;
    flat.flags = (step.masquerades ? abi::kStepMasquerades : 0u) | (step.counted ? abi::kStepCounted : 0u);
    flat.packets = step.packets;
    flat.bytes = step.bytes;
    if (!deliver_row(flat, sink)) return;
  }
}

}  // namespace sluice::inspection

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/start_trace.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::observe {
namespace {

// By ResourceKind.
constexpr std::array<std::string_view, model::kResourceKinds.size()> kListNames{
    "list_services", "list_endpoint_slices", "list_nodes", "list_service_cidrs"};

}  // namespace

StartTrace::StartTrace(const lib::Clock& clock, lib::Clock::Time begun,
                       std::function<void(const StartReport&)> report)
    : clock_(clock), begun_(begun), report_(std::move(report)) {}

void StartTrace::note(Time Instants::*instant) {
  const auto now = clock_.now();
  const lib::Lock lock(mutex_);
  if (Time& time = at_.*instant; !time) time = now;
}

void StartTrace::backend_ready(std::vector<lib::Family> families) {
  note(&Instants::ready);
  const lib::Lock lock(mutex_);
  families_ = std::move(families);
}

void StartTrace::listed(model::ResourceKind kind) {
  const auto now = clock_.now();
  const lib::Lock lock(mutex_);
  if (Time& time = at_.listed[static_cast<std::size_t>(kind)]; !time) time = now;
}

void StartTrace::taken(lib::Family family) {
  const auto now = clock_.now();
  const lib::Lock lock(mutex_);
  const std::size_t index = lib::family_index(family);
  if (!at_.applied[index]) at_.taken[index] = now;
}

void StartTrace::applied(lib::Family family) {
  const auto now = clock_.now();
  StartReport out;
  {
    const lib::Lock lock(mutex_);
    if (Time& time = at_.applied[lib::family_index(family)]; !time) time = now;
    bool complete = !families_.empty();
    for (const lib::Family one : families_) complete = complete && at_.applied[lib::family_index(one)];
    if (!complete || std::exchange(reported_, true)) return;
    out = report();
  }
  report_(out);
}

StartReport StartTrace::report() const {
  StartReport out;
  const auto add = [&out](std::string_view name, lib::Clock::Time from, lib::Clock::Time to) {
    out.phases.push_back({name, std::chrono::duration<double>(to - from).count()});
  };
  const auto latest = [](const auto& times, lib::Clock::Time from) {
    for (const Time& time : times) from = std::max(from, time.value_or(from));
    return from;
  };
  const auto configured = at_.configured.value_or(begun_);
  const auto prepared = at_.prepared.value_or(configured);
  const auto loaded = at_.loaded.value_or(prepared);
  const auto ready = at_.ready.value_or(loaded);
  const auto answered = at_.answered.value_or(prepared);
  const auto applied = latest(at_.applied, ready);
  const auto taken = latest(at_.taken, ready);
  add("configuration", begun_, configured);
  add("preparation", configured, prepared);
  add("backend_load", prepared, loaded);
  add("backend_probe", loaded, ready);
  add("connection", prepared, answered);
  auto complete = ready;
  for (std::size_t kind = 0; kind < kListNames.size(); ++kind) {
    const Time& listed = at_.listed[kind];
    // The first transaction did not wait for a list that came later.
    if (!listed || *listed > taken) continue;
    add(kListNames[kind], answered, *listed);
    complete = std::max(complete, *listed);
  }
  add("store", complete, taken);
  add("first_apply", taken, applied);
  out.whole_seconds = std::chrono::duration<double>(applied - begun_).count();
  return out;
}

}  // namespace sluice::observe

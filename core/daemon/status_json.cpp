// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The JSON object for `sluicectl status`.
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/daemon/build_info.hpp"
#include "core/daemon/state_reader.hpp"
#include "core/lifecycle/backends.hpp"
#include "core/plugin/loader.hpp"
#include "lib/rfc3339.hpp"

namespace sluice::daemon {
namespace {

using nlohmann::json;

const char* source_kind(config::SourceKind kind) {
  switch (kind) {
    case config::SourceKind::in_cluster:
      return "in-cluster";
    case config::SourceKind::api:
      return "api";
    case config::SourceKind::manifests:
      return "manifests";
    case config::SourceKind::replay:
      return "replay";
  }
  return "";
}

json family_json(const lifecycle::BackendRun::PerFamily& family, const snapshot::StoreStatus& store) {
  const sync::LoopStatus loop = family.loop->status();
  json not_programmed = json::array();
  for (const auto& [name, reason] : loop.not_programmed.reasons()) {
    not_programmed.push_back({{"service_port", name.printed()}, {"reason", reason}});
  }
  json facts = json::array();
  for (const plugin::StatusFact& fact : family.loop->facts()) {
    facts.push_back({{"name", fact.name}, {"value", fact.value}});
    if (!fact.remedy.empty()) facts.back()["remedy"] = fact.remedy;
  }
  json out = {{"family", lib::family_name(family.family)},
              {"synced", loop.synced},
              {"generation", loop.generation},
              {"service_ports", store.service_ports[lib::family_index(family.family)]},
              {"objects_owned", loop.objects_owned},
              {"full_syncs", loop.full_syncs},
              {"delta_syncs", loop.delta_syncs},
              {"failures", loop.failures},
              {"repairs", loop.repairs},
              {"failed_objects", loop.failed_objects},
              {"not_programmed", std::move(not_programmed)},
              {"facts", std::move(facts)},
              {"last_error", loop.last_error},
              {"unwell", loop.unhealthy_reason},
              {"overdue", family.loop->overdue()}};
  if (loop.last_apply) {
    out["last_apply"] = {{"kind", loop.last_apply->full ? "full" : "delta"},
                         {"seconds", loop.last_apply->seconds},
                         {"kernel_writes", loop.last_apply->kernel_writes},
                         {"result", loop.last_apply->result},
                         {"at", lib::rfc3339(loop.last_apply->at)}};
  }
  if (loop.last_failure) {
    out["last_failure"] = {{"error", loop.last_failure->error}, {"at", lib::rfc3339(loop.last_failure->at)}};
  }
  if (loop.last_programming_seconds >= 0) out["last_programming_seconds"] = loop.last_programming_seconds;
  return out;
}

json kept_json(const lifecycle::DescriptorKeeper::Statistics& kept) {
  json out = {{"count", kept.kept}, {"store", kept.store}, {"pending", kept.pending}};
  if (kept.holder != 0) out["holder"] = kept.holder;
  return out;
}

json swap_json(const lifecycle::SwapProgress& swap) {
  json out = {{"state", swap.step ? std::string(lifecycle::step_name(*swap.step)) : std::string("idle")}};
  if (swap.step) {
    out["from"] = swap.from;
    out["to"] = swap.to;
    out["since"] = lib::rfc3339(swap.since);
  }
  if (swap.last) {
    const lifecycle::SwapResult& last = *swap.last;
    out["last"] = {{"from", last.from},
                   {"to", last.to},
                   {"result", last.status.ok() ? "success" : "failed"},
                   {"seconds", last.seconds},
                   {"longest_wait_seconds", last.longest_wait_seconds},
                   {"remarks", last.remarks},
                   {"at", lib::rfc3339(last.at)}};
    if (!last.status.ok()) out["last"]["error"] = last.status.message();
    if (last.failed_at) out["last"]["failed_at"] = std::string(lifecycle::step_name(*last.failed_at));
  }
  return out;
}

json retiring_json(const lifecycle::Retirement::Entry& retiring, lib::Clock::Time now) {
  json families = json::array();
  for (const auto& of : retiring.run->families()) families.push_back(lib::family_name(of->family));
  return {{"backend", retiring.run->plugin().id()},
          {"families", std::move(families)},
          {"until", lib::rfc3339(std::chrono::system_clock::now() + (retiring.until - now))},
          {"error", retiring.error}};
}

}  // namespace

json StateReader::status(const reload::ReloadStatus& reload) const {
  if (!complete_) return starting_status();
  const auto active = backends_.active_run();
  const plugin::Plugin& plugin = active->plugin();
  const snapshot::StoreStatus store = delivery_.store().published();
  const SourceStatus source = delivery_.source().status();
  json resources = json::array();
  for (const auto& r : source.resources) {
    resources.push_back({{"kind", r.kind},
                         {"connected", r.connected},
                         {"lists", r.lists},
                         {"watches", r.watches},
                         {"errors", r.errors},
                         {"last_error", r.last_error}});
  }
  json families = json::array();
  for (const auto& of : active->families()) {
    families.push_back(family_json(*of, store));
  }
  json out = {
      {"version", kVersion},
      {"mode", plugin.id()},
      {"plugin", {{"id", plugin.id()}, {"version", plugin.version()}, {"path", plugin.file().string()}}},
      {"node", {{"name", node_name_}, {"seen", store.node.has_value()}}},
      {"source",
       {{"kind", source_kind(source.kind)},
        {"detail", source.detail},
        {"synced", store.synced},
        {"resources", std::move(resources)}}},
      {"objects", {{"services", store.services}, {"endpoint_slices", store.slices}, {"endpoints", store.endpoints}}},
      {"families", std::move(families)},
      {"events",
       {{"total", store.counters.events},
        {"no_op", store.counters.no_op},
        {"unusable", store.counters.unusable}}}};
  // Before the retiring backends, which include the old one when the swap has ended.
  out["swap"] = swap_json(backends_.swap_progress());
  json retiring = json::array();
  for (const auto& entry : backends_.retiring()) retiring.push_back(retiring_json(entry, clock_.now()));
  out["retiring"] = std::move(retiring);
  out["reload"] = reload::reload_json(reload);
  const auto kept = backends_.kept_descriptors();
  if (kept.kept != 0) out["kept_sockets"] = kept_json(kept);
  if (source.recording) {
    out["recording"] = {{"file", source.recording->path},
                        {"events", source.recording->events},
                        {"bytes", source.recording->bytes},
                        {"error", source.recording->error}};
  }
  if (store.node) out["node"]["zone"] = store.node->zone;
  return out;
}

json StateReader::starting_status() const {
  json families = json::array();
  for (const auto& one : backends_.starting()) {
    families.push_back({{"family", lib::family_name(one.loop.family)}, {"synced", false}, {"overdue", one.call}});
  }
  return {{"version", kVersion},
          {"mode", settings_.get()->backend},
          {"node", {{"name", node_name_}, {"seen", false}}},
          {"families", std::move(families)}};
}

}  // namespace sluice::daemon

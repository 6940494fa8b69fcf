// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/status_json.hpp"

#include "core/daemon/build_info.hpp"
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

json family_json(const StatusInput& in, const StatusInput::PerFamily& family) {
  const sync::LoopStatus& loop = family.loop;
  json not_programmed = json::array();
  for (const auto& [name, reason] : loop.not_programmed.reasons()) {
    not_programmed.push_back({{"service_port", name.printed()}, {"reason", reason}});
  }
  json out = {{"family", lib::family_name(family.family)},
              {"synced", loop.synced},
              {"generation", loop.generation},
              {"service_ports", in.store.service_ports[lib::family_index(family.family)]},
              {"objects_owned", loop.objects_owned},
              {"full_syncs", loop.full_syncs},
              {"delta_syncs", loop.delta_syncs},
              {"failures", loop.failures},
              {"repairs", loop.repairs},
              {"failed_objects", loop.failed_objects},
              {"not_programmed", std::move(not_programmed)},
              {"last_error", loop.last_error},
              {"unwell", loop.unhealthy_reason},
              {"overdue", family.overdue}};
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

json retiring_json(const StatusInput::Retiring& retiring) {
  json families = json::array();
  for (const lib::Family family : retiring.families) families.push_back(lib::family_name(family));
  return {{"backend", retiring.backend},
          {"families", std::move(families)},
          {"until", lib::rfc3339(retiring.until)},
          {"error", retiring.error}};
}

}  // namespace

json status_json(const StatusInput& in) {
  json resources = json::array();
  for (const auto& r : in.resources) {
    resources.push_back({{"kind", r.kind},
                         {"connected", r.connected},
                         {"lists", r.lists},
                         {"watches", r.watches},
                         {"errors", r.errors},
                         {"last_error", r.last_error}});
  }
  json families = json::array();
  for (const auto& family : in.families) families.push_back(family_json(in, family));
  json out = {
      {"version", kVersion},
      {"mode", in.plugin->id()},
      {"plugin", {{"id", in.plugin->id()}, {"version", in.plugin->version()}, {"path", in.plugin->file().string()}}},
      {"node", {{"name", in.node_name}, {"seen", in.store.node.has_value()}}},
      {"source",
       {{"kind", source_kind(in.source_kind)},
        {"detail", in.source},
        {"synced", in.store.synced},
        {"resources", std::move(resources)}}},
      {"objects",
       {{"services", in.store.services}, {"endpoint_slices", in.store.slices}, {"endpoints", in.store.endpoints}}},
      {"families", std::move(families)},
      {"events",
       {{"total", in.store.counters.events},
        {"no_op", in.store.counters.no_op},
        {"unusable", in.store.counters.unusable}}}};
  json retiring = json::array();
  for (const auto& one : in.retiring) retiring.push_back(retiring_json(one));
  out["retiring"] = std::move(retiring);
  out["swap"] = swap_json(in.swap);
  out["reload"] = reload::reload_json(in.reload);
  if (in.recording) {
    out["recording"] = {{"file", in.recording->path},
                        {"events", in.recording->events},
                        {"bytes", in.recording->bytes},
                        {"error", in.recording->error}};
  }
  if (in.store.node) out["node"]["zone"] = in.store.node->zone;
  return out;
}

}  // namespace sluice::daemon

// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/events/node_events.hpp"

#include <utility>

#include "core/observe/events/event_table.hpp"
#include "lib/text.hpp"

namespace sluice::observe {
namespace {

using kube::ClusterEvent;
using kube::Regarding;

ClusterEvent event_of(const event_table::Row& row, std::string note, Regarding regarding) {
  return {row.type == "Normal" ? ClusterEvent::Type::normal : ClusterEvent::Type::warning, std::string(row.reason),
          std::string(row.action), std::move(note), std::move(regarding)};
}

}  // namespace

ClusterEvent starting_event(const std::string& node, const std::string& version) {
  return event_of(event_table::kStarting, "sluiced " + version, Regarding::node(node));
}

ClusterEvent deprecation_event(const std::string& node, const config::ModeFacts& mode) {
  return {ClusterEvent::Type::warning, std::string(mode.deprecation_event), std::string(event_table::kStarting.action),
          std::string(mode.id) + " mode " + std::string(mode.deprecation) +
              ". sluiced continues to support it, and can switch a node to another mode at any time",
          Regarding::node(node)};
}

ClusterEvent bind_failed_event(const std::string& node, const std::string& reason, const std::string& sentence) {
  return {ClusterEvent::Type::warning, reason, std::string(event_table::kHealthServer.action), sentence,
          Regarding::node(node)};
}

ClusterEvent kernel_settings_event(const std::string& node, const std::vector<std::string>& sentences) {
  return event_of(event_table::kKernelSettings, lib::joined(sentences, "; "), Regarding::node(node));
}

ClusterEvent service_health_event(const std::string& name_space, const std::string& name, const std::string& sentence) {
  return event_of(event_table::kServiceHealth, sentence, Regarding::service(name_space, name));
}

ClusterEvent not_programmed_event(const std::string& backend, const plugin::FailedServicePort& failed) {
  return event_of(event_table::kNotProgrammed,
                  "backend " + backend + " did not program " + failed.port.printed() + ": " + failed.message,
                  Regarding::service(failed.port.name_space, failed.port.service));
}

ClusterEvent reload_event(const std::string& node, const reload::ReloadResult& result) {
  const std::string note = lib::joined(result.sentences, "; ");
  if (result.ok()) return event_of(event_table::kReloaded, note, Regarding::node(node));
  return event_of(event_table::kReloadFailed,
                  std::string(result.partly_applied ? "partially applied (" : "keeping the running configuration (") +
                      result.trigger + "): " + note,
                  Regarding::node(node));
}

ClusterEvent backend_event(const std::string& node, const std::string& backend, abi::Severity severity,
                           const std::string& reason, const std::string& note,
                           const std::optional<plugin::ServicePortName>& regarding) {
  const bool bad = severity == abi::Severity::kError || severity == abi::Severity::kWarning;
  return {bad ? ClusterEvent::Type::warning : ClusterEvent::Type::normal,
          reason.empty() ? std::string(event_table::kBackend.reason) : reason,
          std::string(event_table::kBackend.action), "backend " + backend + ": " + note,
          regarding ? Regarding::service(regarding->name_space, regarding->service) : Regarding::node(node)};
}

}  // namespace sluice::observe

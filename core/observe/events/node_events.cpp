// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/observe/events/node_events.hpp"

#include "lib/text.hpp"

namespace sluice::observe {
namespace {

using kube::ClusterEvent;
using kube::Regarding;

constexpr const char* kStart = "StartKubeProxy";

}  // namespace

ClusterEvent starting_event(const std::string& node, const std::string& version) {
  return {ClusterEvent::Type::normal, "Starting", kStart, "sluiced " + version, Regarding::node(node)};
}

ClusterEvent deprecation_event(const std::string& node, const config::ModeFacts& mode) {
  return {ClusterEvent::Type::warning, std::string(mode.deprecation_event), kStart,
          std::string(mode.id) + " mode " + std::string(mode.deprecation) +
              ". sluiced continues to support it, and can switch a node to another mode at any time",
          Regarding::node(node)};
}

ClusterEvent bind_failed_event(const std::string& node, const std::string& reason, const std::string& sentence) {
  return {ClusterEvent::Type::warning, reason, kStart, sentence, Regarding::node(node)};
}

ClusterEvent kernel_settings_event(const std::string& node, const std::vector<std::string>& sentences) {
  return {ClusterEvent::Type::warning, "FailedToSetKernelSettings", kStart, lib::joined(sentences, "; "),
          Regarding::node(node)};
}

ClusterEvent service_health_event(const std::string& name_space, const std::string& name, const std::string& sentence) {
  return {ClusterEvent::Type::warning, "FailedToStartServiceHealthcheck", "Listen", sentence,
          Regarding::service(name_space, name)};
}

ClusterEvent not_programmed_event(const std::string& backend, const plugin::FailedServicePort& failed) {
  return {ClusterEvent::Type::warning, "ServicePortNotProgrammed", "SyncProxyRules",
          "backend " + backend + " did not program " + failed.port.printed() + ": " + failed.message,
          Regarding::service(failed.port.name_space, failed.port.service)};
}

ClusterEvent reload_event(const std::string& node, const reload::ReloadResult& result) {
  const std::string note = lib::joined(result.sentences, "; ");
  if (result.ok()) {
    return {ClusterEvent::Type::normal, "ConfigurationReloaded", "Reload", note, Regarding::node(node)};
  }
  return {ClusterEvent::Type::warning, "ConfigurationReloadFailed", "Reload",
          std::string(result.partly_applied ? "partially applied (" : "keeping the running configuration (") +
              result.trigger + "): " + note,
          Regarding::node(node)};
}

ClusterEvent backend_event(const std::string& node, const std::string& backend, abi::Severity severity,
                           const std::string& reason, const std::string& note,
                           const std::optional<plugin::ServicePortName>& regarding) {
  const bool bad = severity == abi::Severity::kError || severity == abi::Severity::kWarning;
  return {bad ? ClusterEvent::Type::warning : ClusterEvent::Type::normal, reason.empty() ? "BackendEvent" : reason,
          "RunBackend", "backend " + backend + ": " + note,
          regarding ? Regarding::service(regarding->name_space, regarding->service) : Regarding::node(node)};
}

}  // namespace sluice::observe

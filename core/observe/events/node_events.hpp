// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Builds the Kubernetes events of the daemon, with the texts of kube-proxy if it has the same event (BEH 11.8). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/mode_table.hpp"
#include "core/kube/events/cluster_event.hpp"
#include "core/plugin/host_services.hpp"
#include "core/reload/reload_result.hpp"

namespace sluice::observe {

kube::ClusterEvent starting_event(const std::string& node, const std::string& version);
// Reported at each start in a mode that is deprecated, as kube-proxy does.
kube::ClusterEvent deprecation_event(const std::string& node, const config::ModeFacts& mode);
// `reason` is FailedToStartProxierHealthcheck or FailedToStartMetricServer.
kube::ClusterEvent bind_failed_event(const std::string& node, const std::string& reason, const std::string& sentence);
// `sentences`: not empty.
kube::ClusterEvent kernel_settings_event(const std::string& node, const std::vector<std::string>& sentences);
kube::ClusterEvent service_health_event(const std::string& name_space, const std::string& name,
                                        const std::string& sentence);
// A service port that the backend does not program.
kube::ClusterEvent not_programmed_event(const std::string& backend, const plugin::FailedServicePort& failed);
// REQUIRES: the outcome is not `unchanged`.
kube::ClusterEvent reload_event(const std::string& node, const reload::ReloadResult& result);
kube::ClusterEvent backend_event(const std::string& node, const std::string& backend, abi::Severity severity,
                                 const std::string& reason, const std::string& note,
                                 const std::optional<plugin::ServicePortName>& regarding);

}  // namespace sluice::observe

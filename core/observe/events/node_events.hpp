// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon tells as events, in the words of kube-proxy where it has such (BEH 11.8).
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kube/events/cluster_event.hpp"
#include "core/plugin/host_services.hpp"
#include "core/reload/reload_result.hpp"

namespace sluice::observe {

kube::ClusterEvent starting_event(const std::string& node, const std::string& version);
// What is said at each start in mode ipvs, as kube-proxy does.
kube::ClusterEvent ipvs_deprecation_event(const std::string& node);
// `reason` is FailedToStartProxierHealthcheck or FailedToStartMetricServer.
kube::ClusterEvent bind_failed_event(const std::string& node, const std::string& reason, const std::string& sentence);
// `sentences`: not empty.
kube::ClusterEvent kernel_settings_event(const std::string& node, const std::vector<std::string>& sentences);
kube::ClusterEvent service_health_event(const std::string& name_space, const std::string& name,
                                        const std::string& sentence);
// A service port that the backend leaves out.
kube::ClusterEvent left_out_event(const std::string& backend, const plugin::FailedServicePort& failed);
// REQUIRES: something came of it.
kube::ClusterEvent reload_event(const std::string& node, const reload::ReloadResult& result);
kube::ClusterEvent backend_event(const std::string& node, const std::string& backend, abi::Severity severity,
                                 const std::string& reason, const std::string& note,
                                 const std::optional<plugin::ServicePortName>& regarding);

}  // namespace sluice::observe

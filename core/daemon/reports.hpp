// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the parts of the daemon report while they run: metrics, Kubernetes events, health of Services, and how long the
// start took. Any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/kube/events/event_recorder.hpp"
#include "core/observe/health/service_health_server.hpp"
#include "core/observe/metrics/metrics.hpp"
#include "core/observe/start_trace.hpp"
#include "core/reload/reload_result.hpp"
#include "lib/clock.hpp"

namespace sluice::daemon {

class Reports {
 public:
  // `begun`: when the process began. `proxy_healthy`: for the health check node ports. The clock must outlive it.
  Reports(const std::string& node_name, const lib::Clock& clock, lib::Clock::Time begun,
          std::function<bool()> proxy_healthy);

  observe::Metrics& metrics() { return metrics_; }
  kube::EventRecorder& events() { return events_; }
  observe::ServiceHealthServer& service_health() { return service_health_; }
  observe::StartTrace& start_trace() { return start_trace_; }

  // Events about the node.
  void starting(const std::string& version);
  // `reason` is kube-proxy's event reason.
  void bind_failed(const std::string& reason, const std::string& sentence);
  void conntrack_settings_failed(const std::vector<std::string>& sentences);
  // Also counts the reload.
  void reloaded(const reload::ReloadResult& result);

 private:
  const std::string node_name_;
  observe::Metrics metrics_;
  kube::EventRecorder events_;
  observe::ServiceHealthServer service_health_;
  observe::StartTrace start_trace_;
};

}  // namespace sluice::daemon

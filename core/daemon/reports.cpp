// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "core/daemon/reports.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "core/base/log_messages.hpp"
#include "core/observe/events/node_events.hpp"
#include "lib/text.hpp"

namespace sluice::daemon {
namespace {

void log_start(const observe::StartReport& report) {
  const auto milliseconds = [](double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f ms", 1000 * seconds);
    return std::string(text);
  };
  const std::string phases = lib::joined(report.phases, ", ", [&](const observe::StartPhase& phase) {
    return std::string(phase.name) + " " + milliseconds(phase.seconds);
  });
  base::log(base::message::kStartCompleted,
            "first sync completed " + milliseconds(report.whole_seconds) + " after the start: " + phases,
            {{"seconds", report.whole_seconds}, {"phases", phases}});
}

}  // namespace

Reports::Reports(const std::string& node_name, const lib::Clock& clock, lib::Clock::Time begun,
                 std::function<bool()> proxy_healthy)
    : node_name_(node_name),
      events_({.node_name = node_name}, clock),
      service_health_(std::move(proxy_healthy), {},
                      [this](const std::string& name_space, const std::string& name, const std::string& sentence) {
                        events_.record(observe::service_health_event(name_space, name, sentence));
                      }),
      start_trace_(clock, begun, [this](const observe::StartReport& report) {
        metrics_.started(report);
        log_start(report);
      }) {}

void Reports::starting(const std::string& version) { events_.record(observe::starting_event(node_name_, version)); }

void Reports::bind_failed(const std::string& reason, const std::string& sentence) {
  events_.record(observe::bind_failed_event(node_name_, reason, sentence));
}

void Reports::conntrack_settings_failed(const std::vector<std::string>& sentences) {
  events_.record(observe::kernel_settings_event(node_name_, sentences));
}

void Reports::reloaded(const reload::ReloadResult& result) {
  metrics_.reloaded(result);
  if (result.outcome != reload::ReloadOutcome::unchanged) events_.record(observe::reload_event(node_name_, result));
}

}  // namespace sluice::daemon

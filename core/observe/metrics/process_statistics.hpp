// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Resource usage of this process from /proc, and build information. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::observe {

// A value is missing if /proc does not have it.
struct ProcessStatistics {
  std::optional<double> cpu_seconds;
  std::optional<double> resident_bytes;
  std::optional<double> virtual_bytes;
  std::optional<double> max_virtual_bytes;
  std::optional<double> open_fds;
  std::optional<double> max_fds;
  std::optional<double> start_time;  // since the epoch
  // IPv4 traffic of the whole network namespace, as Go's library reports under these names.
  std::optional<double> received_bytes;
  std::optional<double> sent_bytes;
};

// A counter from a text in the format of /proc/net/netstat.
std::optional<double> netstat_counter(std::string_view text, std::string_view section, std::string_view name);

ProcessStatistics process_statistics();
// The start time of the process, or now if /proc does not have it.
std::chrono::system_clock::time_point process_start();

struct BuildInfo {
  std::string version;
  std::string compiler;
  std::string platform;            // "linux/amd64", as Kubernetes writes it
  std::string kubernetes_version;  // of the kube-proxy that this build follows
  std::string kubernetes_major;
  std::string kubernetes_minor;
};

BuildInfo build_info();

}  // namespace sluice::observe

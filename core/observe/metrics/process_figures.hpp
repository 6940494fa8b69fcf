// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the kernel says about this process, and what the compiler said about the build.
// Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::observe {

// Nothing where /proc does not tell.
struct ProcessFigures {
  std::optional<double> cpu_seconds;
  std::optional<double> resident_bytes;
  std::optional<double> virtual_bytes;
  std::optional<double> max_virtual_bytes;
  std::optional<double> open_fds;
  std::optional<double> max_fds;
  std::optional<double> start_time;  // since the epoch
  // Of IPv4, by all processes of the network namespace: what Go's library reports under these names.
  std::optional<double> received_bytes;
  std::optional<double> sent_bytes;
};

// The counter `name` of the section of a text in the format of /proc/net/netstat.
std::optional<double> netstat_counter(std::string_view text, std::string_view section, std::string_view name);

ProcessFigures process_figures();
// The same start time; this instant when /proc does not have it.
std::chrono::system_clock::time_point process_start();

struct BuildFigures {
  std::string version;
  std::string compiler;
  std::string platform;            // "linux/amd64", as Kubernetes writes it
  std::string kubernetes_version;  // of the kube-proxy whose behaviour this build has
  std::string kubernetes_major;
  std::string kubernetes_minor;
};

BuildFigures build_figures();

}  // namespace sluice::observe

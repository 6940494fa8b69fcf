// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Kernel settings that the daemon applies once, at start: size and timeouts of the connection tracking table (BEH 9.2),
// and the OOM score adjustment. A failure does not prevent the start; it is returned as a message. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/node/conntrack_settings.hpp"
#include "lib/status.hpp"
#include "lib/sysctl.hpp"

namespace sluice::node {

// The number of processors as kube-proxy counts them: the online ones in /sys, including threads of one core; without
// /sys, those that this process may run on.
unsigned count_processors(const std::string& sys = "/sys");

// The requested size of the table; 0 keeps it.
std::uint64_t conntrack_max(const ConntrackSettings& settings, unsigned processors);

// Writes the settings that differ. Returns a message for each one that could not be written.
std::vector<std::string> apply_conntrack_settings(const ConntrackSettings& settings, const lib::Sysctl& sysctl,
                                                  const std::string& sys = "/sys");

// Whether net.netfilter.nf_conntrack_tcp_be_liberal is on. False if the connection tracking module is not loaded.
lib::Result<bool> conntrack_tcp_be_liberal(const lib::Sysctl& sysctl);

// A warning if packets between pods on one bridge bypass the rules. If the module is not loaded, this is certain only
// if pods are known to be on a bridge.
std::string check_bridge_netfilter(const lib::Sysctl& sysctl, bool pods_on_bridge);

// Applies to this process and to its child processes.
lib::Status set_oom_score(int score, const std::string& file = "/proc/self/oom_score_adj");

}  // namespace sluice::node

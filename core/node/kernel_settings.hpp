// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon asks of the kernel once, at start: room and timeouts of connection
// tracking (BEH 9.2), and not to be killed early when memory is short. Nothing of it is
// worth not starting for: what cannot be had is said in sentences. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/node/conntrack_settings.hpp"
#include "core/node/sysctl.hpp"

namespace sluice::node {

// Processors of the machine as kube-proxy counts them: those online that /sys tells of,
// threads of one core apart; else those this process may run on.
unsigned count_processors(const std::string& sys = "/sys");

// The size of the table wanted; 0 leaves it as it is.
std::uint64_t conntrack_max(const ConntrackSettings& settings, unsigned processors);

// Writes what differs; a sentence for each setting that could not be written.
std::vector<std::string> apply_conntrack_settings(const ConntrackSettings& settings, const Sysctl& sysctl,
                                                  const std::string& sys = "/sys");

// A sentence when packets between pods on one bridge would go past the rules. Without the
// module that is only certain where pods are known to be on a bridge.
std::string check_bridge_netfilter(const Sysctl& sysctl, bool pods_on_bridge);

// Of this process, and of the programs it starts.
base::Status set_oom_score(int score, const std::string& file = "/proc/self/oom_score_adj");

}  // namespace sluice::node

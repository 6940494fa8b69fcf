// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The two packet counters (nfacct) that rules refer to, with kube-proxy's names. The kernel
// owns them and they are never removed, so they survive restarts. Without nfacct in the
// kernel the rules do not use them. Not thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/iptables/declared_metrics.hpp"
#include "sluice/sdk/logger.hpp"
#include "sluice/sdk/metrics.hpp"

namespace sluice::iptables {

class Counters {
 public:
  // Creates missing counters. Logs each counter that is not available once.
  void ensure(netfilter::Kernel& kernel, const sdk::Logger& log);
  // Tries rules with the counters. If the kernel refuses them, disables all counters and returns true.
  bool give_up_when_refused(netfilter::Kernel& kernel);

  // Names for rules; empty if the counter is not available.
  std::string_view invalid_dropped() const noexcept { return name(0); }
  std::string_view localhost_accepted() const noexcept { return name(1); }

  // Reports their values as metrics.
  void report(netfilter::Kernel& kernel, const sdk::Metrics& metrics);

 private:
  struct Counter {
    std::string_view name;
    const abi::MetricSpec& metric;
    bool usable = false;
    bool logged = false;
    std::optional<sdk::Series> series{};  // exists if the kernel has the counter
  };
  std::string_view name(std::size_t which) const noexcept {
    return counters_[which].usable ? counters_[which].name : std::string_view();
  }

  std::array<Counter, 2> counters_{{
      {"ct_state_invalid_dropped_pkts", metric::kInvalidDropped},
      {"localhost_nps_accepted_pkts", metric::kLocalhostAccepted},
  }};
  bool given_up_ = false;
};

}  // namespace sluice::iptables

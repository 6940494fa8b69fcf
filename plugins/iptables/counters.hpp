// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The two counters of packets that rules refer to, under kube-proxy's names. They belong
// to the kernel and are never removed: they count on through restarts. A kernel without
// them is fine; the rules then do without. Not thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "plugins/common/netfilter/kernel.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::iptables {

class Counters {
 public:
  // Makes those that are not there. Logs, once, which of them cannot be had.
  void ensure(netfilter::Kernel& kernel, const sdk::Logger& log);
  // Tries a rule with each. If one is refused, none is used any more; whether that is so.
  bool give_up_when_refused(netfilter::Kernel& kernel);

  // Names for rules; empty where there is none.
  std::string_view invalid_dropped() const noexcept { return name(0); }
  std::string_view localhost_accepted() const noexcept { return name(1); }

  // Tells the host what they have counted.
  void report(netfilter::Kernel& kernel, abi::Host& host) const;

 private:
  struct Counter {
    std::string_view name;
    std::string_view metric;
    bool usable = false;
    bool lamented = false;
  };
  std::string_view name(std::size_t which) const noexcept {
    return counters_[which].usable ? counters_[which].name : std::string_view();
  }

  std::array<Counter, 2> counters_{{
      {"ct_state_invalid_dropped_pkts", "kubeproxy_iptables_ct_state_invalid_dropped_packets_total"},
      {"localhost_nps_accepted_pkts", "kubeproxy_iptables_localhost_nodeports_accepted_packets_total"},
  }};
  bool given_up_ = false;
};

}  // namespace sluice::iptables

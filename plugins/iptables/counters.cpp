// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

#include "plugins/iptables/counters.hpp"

#include <cstring>

#include "plugins/common/log_ids.hpp"

namespace sluice::iptables {

void Counters::ensure(netfilter::Kernel& kernel, const sdk::Logger& log) {
  if (given_up_) return;
  for (Counter& counter : counters_) {
    const int failure = kernel.ensure_counter(std::string(counter.name));
    counter.usable = failure == 0;
    if (failure == 0 || counter.logged) continue;
    counter.logged = true;
    log.info(log_id::kCounterMissing, "the kernel has no counter " + std::string(counter.name) +
                                          " (nfacct): " + std::strerror(failure) + "; rules do not use it");
  }
}

bool Counters::give_up_when_refused(netfilter::Kernel& kernel) {
  std::string rules;
  for (const Counter& counter : counters_) {
    if (counter.usable) rules.append("-A SLUICE-PROBE -m nfacct --nfacct-name ").append(counter.name).append("\n");
  }
  if (rules.empty()) return false;
  // One transaction: the kernel checks the rules and keeps nothing.
  const std::string input = "*filter\n:SLUICE-PROBE - [0:0]\n" + rules + "-F SLUICE-PROBE\n-X SLUICE-PROBE\nCOMMIT\n";
  if (kernel.restore(input).outcome.ok()) return false;
  given_up_ = true;
  for (Counter& counter : counters_) counter.usable = false;
  return true;
}

void Counters::report(netfilter::Kernel& kernel, const sdk::Metrics& metrics) {
  for (Counter& counter : counters_) {
    if (!counter.usable) continue;
    const auto packets = kernel.counted_packets(std::string(counter.name));
    if (!packets) continue;
    if (!counter.series) counter.series = metrics.series(counter.metric);
    counter.series->set(static_cast<double>(*packets));
  }
}

}  // namespace sluice::iptables

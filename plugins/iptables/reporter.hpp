// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Reports metrics to the daemon, with kube-proxy's names for the same metrics.
#pragma once

#include <string>
#include <string_view>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/iptables/state.hpp"
#include "sluice/abi/host.hpp"
#include "sluice/sdk/logger.hpp"

namespace sluice::iptables {

class Reporter {
 public:
  // `host` outlives this.
  Reporter(abi::Host& host, abi::Family family) : host_(host), family_(family) {}

  // After an apply that succeeded.
  void rules(const Totals& totals, const netfilter::KernelSession& session) const;
  // After each apply: the wait for the lock of legacy iptables, if there was any.
  void lock(const netfilter::KernelSession& session, bool given_up, const sdk::Logger& log) const;
  // A restore was rejected, in a full transaction or in a delta.
  void failure(bool full) const;

 private:
  void set(std::string_view metric, std::string_view label, std::string_view value, std::size_t number) const;
  void add(std::string_view metric, double number) const;
  std::string family_label() const;

  abi::Host& host_;
  abi::Family family_;
};

}  // namespace sluice::iptables

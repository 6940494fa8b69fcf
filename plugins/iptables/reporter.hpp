// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// What the daemon is told in figures, under kube-proxy's names where it has the same.
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
  // After each apply: waiting for the lock of the old iptables, if there was any.
  void lock(const netfilter::KernelSession& session, bool given_up, const sdk::Logger& log) const;
  // A restore was refused, in a full transaction or in a delta.
  void failure(bool full) const;

 private:
  void set(std::string_view metric, std::string_view label, std::string_view value, std::size_t number) const;
  void add(std::string_view metric, double number) const;
  std::string family_label() const;

  abi::Host& host_;
  abi::Family family_;
};

}  // namespace sluice::iptables

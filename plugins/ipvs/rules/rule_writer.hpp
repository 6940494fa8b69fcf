// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the iptables part in the kernel, with one restore per change. The apply thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/ipvs/rules/rule_drift.hpp"
#include "plugins/ipvs/rules/rule_listing.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

class RuleWriter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds

  // `kernel` outlives this.
  RuleWriter(netfilter::Kernel& kernel, abi::Family family, Now now);
  ~RuleWriter();

  // Reads the kernel once and writes the difference to `plan`: replaces changed chains atomically and adds missing
  // jumps; foreign rules stay in place. The sets of the plan must exist. Throws sdk::Failure.
  //
  // While another backend serves, its rules in table nat take effect before IPVS, and ours would take packets from
  // it. With `wait` set, table nat is therefore left unchanged except for KUBE-IPVS-HANDOVER, and the result is true.
  // The caller must then write virtual servers, bind addresses, and call again with kNo. Otherwise the result is
  // false and all of `plan` is in place.
  enum class Wait {
    kNo,
    kForIptables,  // if iptables mode serves through nat KUBE-SERVICES
    kAlways,
  };
  bool write_full(const RulePlan& plan, Wait wait = Wait::kNo);
  // As write_full(), but compares with the last write instead of the kernel. In KUBE-IPVS-OUT-FILTER single rules are
  // added and removed. REQUIRES: a complete write_full(), with neither an exception nor drift since; otherwise
  // kNeedFull.
  void write_change(const RulePlan& plan);
  // Changes KUBE-IPVS-OUT-FILTER alone, one line per key. REQUIRES as write_change().
  void write_closed(const std::vector<ServerKey>& close, const std::vector<ServerKey>& reopen);
  // Whether write_change() would write anything.
  bool differs(const RulePlan& plan) const;

  // As in iptables mode: checks the generation number of nf_tables; with legacy iptables lists all rules, with a rest
  // in between.
  std::optional<std::string> find_drift();

  // Removes the jumps that lead new connections to our chains of table nat, except to chains that `keep` names.
  // Established connections do not need them. Throws sdk::Failure.
  void remove_nat_jumps(const std::function<bool(netfilter::Table, const std::string& chain)>& keep);
  // Removes jumps and chains that `keep` does not name. Chains that a foreign rule jumps to are only emptied. Jumps
  // of other backends to kept chains stay. Afterwards no rule of ours uses a set. Throws sdk::Failure.
  void remove_all(const std::function<bool(netfilter::Table, const std::string& chain)>& keep);

  // Lists the kernel's rules; find_drift() is not affected. Throws sdk::Failure.
  RuleListing read();
  // All drift since the last write; see list_rule_drift(). As read().
  void list_drift(const OnRuleDrift& on_drift);

  std::size_t rules() const noexcept;  // owned
  // The cost of the last write: lines, waiting for the xtables lock, run time of the tools.
  const netfilter::KernelSession& session() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::ipvs

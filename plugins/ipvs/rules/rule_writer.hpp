// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Keeps the iptables part in the kernel: one restore, and only when something is different.
// The apply thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/ipvs/rules/rule_look.hpp"
#include "plugins/ipvs/rules/rule_plan.hpp"

namespace sluice::ipvs {

class RuleWriter {
 public:
  using Now = std::function<std::uint64_t()>;  // nanoseconds

  // `kernel` outlives this.
  RuleWriter(netfilter::Kernel& kernel, abi::Family family, Now now);
  ~RuleWriter();

  // Reads the kernel once and writes the difference to `plan`: chains whose content differs as a whole (atomically), jumps
  // that are missing; foreign rules stay as they are and where they are. Sets the plan names must exist. Throws sdk::Failure.
  //
  // As long as another backend serves, what it has in table nat goes before IPVS, and ours would take packets from it: when
  // this waits, table nat is left as it is but for KUBE-IPVS-HANDOVER, and the result is true. Write virtual servers and
  // bind addresses, then call again with kNo: no packet meets neither of the two. Else the result is false and all of
  // `plan` is in place.
  enum class Wait {
    kNo,
    kForIptables,  // when mode iptables serves through nat KUBE-SERVICES, which shows
    kAlways,
  };
  bool write_full(const RulePlan& plan, Wait wait = Wait::kNo);
  // The same without reading: compares with what was written. A single rule that comes or goes (KUBE-IPVS-OUT-FILTER) is
  // one line. REQUIRES: a write_full() that wrote all and has not been followed by a throw or by damage; kNeedFull else.
  void write_change(const RulePlan& plan);
  // Of all that was written, only KUBE-IPVS-OUT-FILTER changes, by these: a line for each. REQUIRES as write_change().
  void write_closed(const std::vector<ServerKey>& close, const std::vector<ServerKey>& reopen);
  // Whether write_change() would write anything.
  bool differs(const RulePlan& plan) const;

  // As in mode iptables: generation number with nf_tables, a look each time with the old one, rested.
  std::optional<std::string> find_damage();

  // Removes the jumps that lead new connections to our chains of table nat, but to those `keep` names: what is
  // established needs none of them, and everything else stays. Throws sdk::Failure.
  void remove_leads(const std::function<bool(netfilter::Table, const std::string& chain)>& keep);
  // Removes jumps and chains, but those for which `keep` says so; chains somebody else's rule leads to are emptied only.
  // Jumps of other backends to chains that are kept stay. Nothing of ours uses a set afterwards. Throws sdk::Failure.
  void remove_all(const std::function<bool(netfilter::Table, const std::string& chain)>& keep);

  // What the kernel has, now; find_damage() is not affected. Throws sdk::Failure.
  RuleLook read();

  std::size_t rules() const noexcept;  // owned
  // What the last writing call cost: lines, waiting for the lock of the old iptables, and for the tools.
  const netfilter::KernelSession& session() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::ipvs

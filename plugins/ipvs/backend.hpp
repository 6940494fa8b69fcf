// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// One object per IP family, called from one thread. It chooses between full and delta, orders the changes to the four
// parts of the kernel, and decides ownership; the writers do the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/extensions.hpp"
#include "plugins/common/netfilter/lock_metrics.hpp"
#include "plugins/common/netfilter/not_programmed.hpp"
#include "plugins/ipvs/drift_watch.hpp"
#include "plugins/ipvs/inspection.hpp"
#include "plugins/ipvs/links/address_writer.hpp"
#include "plugins/ipvs/metrics.hpp"
#include "plugins/ipvs/node_kernels.hpp"
#include "plugins/ipvs/ownership.hpp"
#include "plugins/ipvs/plan.hpp"
#include "plugins/ipvs/port_clashes.hpp"
#include "plugins/ipvs/retirement.hpp"
#include "plugins/ipvs/rules/rule_writer.hpp"
#include "plugins/ipvs/servers/server_writer.hpp"
#include "plugins/ipvs/sets/set_writer.hpp"
#include "plugins/ipvs/settings.hpp"
#include "plugins/ipvs/wanted.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::ipvs {

class IpvsBackend final : public sdk::BackendBase,
                          private common::PreparationBase,
                          private common::AffinityBase,
                          private common::InspectionBase {
 public:
  explicit IpvsBackend(const abi::CreateArgs& args);
  // With other kernel access than this node's, for tests.
  IpvsBackend(const abi::CreateArgs& args, NodeKernels kernels);

 private:
  using Problems = netfilter::Problems;

  abi::Code do_probe(abi::Error* error) override;
  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error* error) override;
  abi::Code do_verify(abi::Error* error) override;
  abi::Code do_claims(abi::StringSink& sink, abi::Error* error) override;
  abi::Code do_retire(const abi::Handover& handover, abi::Error* error) override;
  abi::Code do_cleanup(abi::Error* error) override;
  void* do_extension(std::string_view id) override;
  // apply() does the same; this is for callers with more privileges than the daemon.
  void do_prepare(const abi::NodeFacts&) override { prepare_node(); }
  void do_export(abi::AffinitySink& sink) override;
  void do_import(const abi::ArrayView& clients) override;
  void do_inspect(inspection::Answer& answer) override;
  void do_count(inspection::CounterRows& rows) override;
  void do_find_drift(inspection::DriftRows& rows) override;
  void do_explain(inspection::Explanation& explanation) override;

  void prepare_node();
  void warn(std::string_view id, std::string_view reason, const std::string& sentence);
  void log_tools();
  void refresh();
  void plan(const abi::Transaction& transaction, Problems& problems);
  static void note_losers(const std::vector<Wanted::Conflict>& conflicts, std::set<PortId>& losers);
  void note_conflicts(const std::set<PortId>& losers, Problems& problems);
  void add_withheld(const PortId& id, Problems& problems) const;
  Changes all_changes();
  bool wants(const SetItem& item) const;
  void write(Changes changes, bool full, Problems& problems);
  void note_refused(const abi::Transaction& transaction, Problems& problems);
  void exclude_foreign(const std::string& name, ServicePlan& plan, Problems& problems) const;
  void add(const std::vector<SetItem>& items);
  // Returns further changes that follow from the kernel's results.
  Changes put(const std::vector<WantedServer>& wanted, Problems& problems);
  // True: the remaining rules must be written after virtual servers and addresses.
  bool write_all_rules(RuleWriter::Wait wait);
  void change_rules(const Changes& changes);
  RulePlan rule_plan() const;
  template <class Write>
  void write_rules(const Write& write);
  Ownership::Evidence evidence() const { return {sets_, links_.held(), facts_.local_addresses}; }
  void drain_meanwhile();
  KernelState read_node();
  void note_cost(std::uint64_t sent_before, std::uint64_t begin, abi::ApplyResult& result);
  void note_gained();
  void report(abi::ApplyResult& result);
  Messages all_messages() const;
  Messages messages() const;  // without those of probe(), which leaves nothing behind

  const Settings settings_;
  NodeKernels kernels_;
  RuleWriter rules_;
  SetWriter sets_;
  ServerWriter servers_;
  AddressWriter links_;
  Ownership ownership_;
  Wanted wanted_;
  std::set<PortId> gained_;  // service ports whose withheld external addresses are bound again
  NoLocalEndpoints no_local_endpoints_;
  Metrics metrics_;
  netfilter::LockMetrics lock_metrics_;
  DriftWatch drift_;
  PortClashes clashes_;
  Retirement retirement_;

  Messages probe_messages_;
  bool valid_ = false;  // the kernel holds the last transaction
  bool recorded_ = false;  // the writers remember what the last successful apply() wrote
  std::uint64_t generation_ = 0;
  PlanFacts facts_;
  RuleFacts rule_facts_;
  std::uint32_t rules_filled_ = 0;  // the non-empty sets when rules were last written
  std::size_t restore_lines_ = 0;   // iptables-restore lines of this apply
  netfilter::NotProgrammed not_programmed_{host()};
  bool old_backend_serves_ = false;  // until our first apply() has succeeded
  bool logged_tools_ = false;
  bool unsupported_ = false;  // the last write failed because the kernel lacks a feature
};

}  // namespace sluice::ipvs

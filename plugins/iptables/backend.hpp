// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// The iptables backend: one object per IP family, called from one thread. Selects full or delta,
// stores the written state and verifies it; plan, full, delta and cleanup do the work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/extensions.hpp"
#include "plugins/common/netfilter/kernel.hpp"
#include "plugins/common/netfilter/kernel_session.hpp"
#include "plugins/common/netfilter/retirement.hpp"
#include "plugins/iptables/affinity.hpp"
#include "plugins/iptables/apply.hpp"
#include "plugins/iptables/cleanup.hpp"
#include "plugins/iptables/counters.hpp"
#include "plugins/iptables/plan.hpp"
#include "plugins/iptables/recent_lists.hpp"
#include "plugins/iptables/reporter.hpp"
#include "plugins/iptables/service_names.hpp"
#include "plugins/iptables/state.hpp"
#include "sluice/sdk/backend_base.hpp"

namespace sluice::iptables {

class IptablesBackend final : public sdk::BackendBase,
                              private common::PreparationBase,
                              private common::AffinityBase,
                              private common::InspectionBase {
 public:
  explicit IptablesBackend(const abi::CreateArgs& args);
  // For tests: with a fake kernel.
  IptablesBackend(const abi::CreateArgs& args, std::unique_ptr<netfilter::Kernel> kernel,
                  std::unique_ptr<RecentLists> recent = std::make_unique<KernelRecentLists>());

 private:
  // Node facts that any rule may depend on; a change requires a full transaction.
  struct Facts {
    PlanFacts plan;
    std::uint32_t flags = 0;
    std::uint32_t mark = 0;
    bool operator==(const Facts&) const = default;
  };

  abi::Code do_probe(abi::Error* error) override;
  abi::Code do_apply(const abi::Transaction& transaction, const abi::NodeFacts& node, abi::ApplyResult& result,
                     abi::Error* error) override;
  abi::Code do_verify(abi::Error* error) override;
  abi::Code do_claims(abi::StringSink& sink, abi::Error* error) override;
  abi::Code do_retire(const abi::Handover& handover, abi::Error* error) override;
  abi::Code do_cleanup(abi::Error* error) override;
  void* do_extension(std::string_view id) override;
  // Sets sysctls with the privileges of sluiced --init-only. The first apply() does the same.
  void do_prepare(const abi::NodeFacts& node) override { route_localhost(node); }
  void do_export(abi::AffinitySink& sink) override;
  void do_import(const abi::ArrayView& clients) override;
  void do_inspect(inspection::Answer& answer) override;
  void do_count(inspection::CounterRows& rows) override;
  void do_find_drift(inspection::DriftRows& rows) override;
  void do_explain(inspection::Explanation& steps) override;

  void write(const abi::Transaction& transaction, const abi::NodeFacts& node, const Facts& facts,
             netfilter::Submitter& submitter);
  void note_cost(abi::ApplyResult& result) const;
  void write_full(ApplyContext& context, const abi::Transaction& transaction, const abi::NodeFacts& node,
                  const Facts& facts);
  void write_full_once(const ApplyContext& context, const abi::Transaction& transaction, const abi::NodeFacts& node);
  PlanChoices choices(const abi::Transaction& transaction, const Facts& facts) const;
  void prepare_node(const abi::NodeFacts& node);
  void route_localhost(const abi::NodeFacts& node);
  bool may_have_drifted(std::uint64_t now);
  bool is_nft();
  bool has_canary();
  std::string claim(Table table, std::string_view chain) const;
  std::vector<std::string> claimed() const;
  KeepChain kept_for(std::vector<std::string> claims) const;
  bool continue_removal(std::uint32_t drain_seconds);
  void bind_clients();

  std::unique_ptr<netfilter::Kernel> kernel_;
  netfilter::KernelSession session_;
  Reporter reporter_;
  Counters counters_;
  std::unique_ptr<RecentLists> recent_;
  AffinityClients affinity_;
  ServiceNames names_;

  bool valid_ = false;    // state_ was written completely and has not drifted
  bool written_ = false;  // state_ was written completely, by the last apply()
  std::uint64_t generation_ = 0;
  Facts facts_;
  std::uint64_t node_version_ = 0;
  State state_;
  // Printed names of service ports whose rules the kernel refused in an apply that failed. The next full apply skips
  // them.
  std::set<std::string> skipped_;

  std::uint64_t next_listing_ = 0;  // verify() does not read the kernel before this time
  // The old backend serves until the first apply() is done.
  bool old_backend_serves_;
  netfilter::Retirement retirement_;
  std::unique_ptr<Removal> removal_;         // started by retire(), not finished
  std::vector<std::string> removal_claims_;  // the claims of the new backend, which it keeps

  bool logged_tools_ = false;
  bool warned_of_sysctl_ = false;
};

}  // namespace sluice::iptables
